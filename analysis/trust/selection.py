"""Who is chosen, and how often rightly: pass@k, pass@k,n, and the precision-recall curve.

Programs of one problem with equal scores are in random order, and what is reported is the expected
value over these orders. As in Speculyzer (arXiv 2210.00848, section on metrics; the numbers are of
this file):

    TruePositives@k    = problems with a right program at the threshold among the k best        (1)
    PredictedPositives = problems with any program at the threshold                             (2)
    ActualPositives    = problems with any right program among the samples                      (3)
    Precision@k        = TruePositives@k / PredictedPositives                                   (4)
    Recall@k           = TruePositives@k / ActualPositives                                      (5)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Curve:
    """Precision and recall as the threshold falls; one entry a distinct best score."""

    thresholds: Vector
    precision: Vector
    recall: Vector

    @property
    def area(self) -> float | None:
        """Area under the curve: precision times the recall gained, summed; null without recall."""
        if not len(self.recall):
            return None
        gained = np.diff(self.recall, prepend=0.0)
        return float((gained * self.precision).sum())

    @property
    def max_f1(self) -> float | None:
        """The best harmonic mean of precision and recall; null without recall."""
        both = self.precision + self.recall
        if not both.any():
            return None
        return float((2 * self.precision * self.recall / np.where(both > 0, both, 1.0)).max())

    def recall_at(self, precision: float) -> float | None:
        """The best recall at which the precision is at least this; 0 where it is never reached."""
        if not len(self.recall):
            return None
        return float(self.recall[self.precision >= precision].max(initial=0.0))


@dataclass(frozen=True, slots=True)
class Selection:
    """What a score chooses in each problem."""

    problems: list[str]
    best: Vector
    """Best score of each problem."""
    top_right: Vector
    """Chance that the first program is right."""
    solvable: npt.NDArray[np.bool_]
    """Whether any sample is right."""

    def curve(self, counts: npt.NDArray[np.int64] | None = None) -> Curve:
        """Return the curve at k = 1.

        Args:
            counts: how often each problem counts; a bootstrap's draw.
        """
        times = np.ones(len(self.best)) if counts is None else counts.astype(float)
        order = np.argsort(-self.best, kind="stable")
        scores = self.best[order]
        ends = np.flatnonzero(np.append(scores[1:] != scores[:-1], True)) if len(scores) else order
        positives = np.cumsum(times[order])[ends]
        hits = np.cumsum((times * self.top_right)[order])[ends]
        actual = float((times * self.solvable).sum())
        seen = positives > 0
        if not actual:
            seen[:] = False
        return Curve(
            scores[ends][seen],
            (hits / np.maximum(positives, 1))[seen],
            hits[seen] / (actual or 1.0),
        )


def select(frame: pl.DataFrame, score: str) -> Selection:
    """Return what a score chooses first in each problem.

    Args:
        frame: one row a sample: ``problem_id``, ``correct``, and the score; a null score is the
            worst there is.
        score: name of the column.
    """
    value = pl.col(score).fill_null(float("-inf"))
    at_best = value == value.max()
    chosen = frame.group_by("problem_id", maintain_order=True).agg(
        best=value.max(),
        top_right=pl.col("correct").filter(at_best).mean(),
        solvable=pl.col("correct").any(),
    )
    return Selection(
        chosen["problem_id"].to_list(),
        chosen["best"].to_numpy().astype(float),
        chosen["top_right"].to_numpy().astype(float),
        chosen["solvable"].to_numpy(),
    )


def pass_at(frame: pl.DataFrame, score: str, k: int) -> Vector:
    """Return, for each problem, the chance of a right program among the k best (pass@k,n).

    With a score that is the same for all this is pass@k, the chance that k samples drawn without
    return hold a right one (Chen et al., arXiv 2107.03374, equation 1).
    """
    groups = (
        frame.with_columns(value=pl.col(score).fill_null(float("-inf")))
        .group_by("problem_id", "value")
        .agg(size=pl.len(), right=pl.col("correct").sum())
        .sort("value", descending=True)
        .group_by("problem_id")
        .agg("size", "right")
        .sort("problem_id")
    )
    rows = zip(groups["size"].to_list(), groups["right"].to_list(), strict=True)
    return np.array([_chance(sizes, rights, k) for sizes, rights in rows])


def precision_recall_at(
    frame: pl.DataFrame, score: str, k: int, threshold: float
) -> tuple[float | None, float | None, int]:
    """Return Precision@k (4), Recall@k (5) and PredictedPositives (2) at one threshold."""
    over = frame.filter(pl.col(score) >= threshold)
    predicted = over["problem_id"].n_unique()
    actual = frame.filter("correct")["problem_id"].n_unique()
    hits = float(pass_at(over, score, k).sum()) if predicted else 0.0
    return hits / predicted if predicted else None, hits / actual if actual else None, predicted


def _chance(sizes: Sequence[int], rights: Sequence[int], k: int) -> float:
    """Return the chance of a right one among k, taken from groups in order."""
    for size, right in zip(sizes, rights, strict=True):
        if k >= size:
            if right:
                return 1.0
            k -= size
        else:
            wrong = np.arange(k)
            return float(1.0 - np.prod(np.maximum(size - right - wrong, 0) / (size - wrong)))
        if not k:
            break
    return 0.0
