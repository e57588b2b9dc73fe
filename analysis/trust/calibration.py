"""How true probabilities are: proper scores, calibration error, reliability, risk and coverage."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

Vector = npt.NDArray[np.float64]
BINS = 10
_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Calibration:
    """Scores of probabilities against what came true; null where undefined."""

    n: int
    base_rate: float | None
    auroc: float | None
    """Chance that a right one scores above a wrong one; null where all are alike."""
    brier: float | None
    """Mean squared distance (Brier 1950)."""
    skill: float | None
    """1 - Brier / Brier of the base rate; null where all are alike."""
    log_loss: float | None
    ece: float | None
    """Expected calibration error, bins of equal width (Guo et al., arXiv 1706.04599, eq. 3)."""
    ece_mass: float | None
    """The same, bins of equal mass."""


@dataclass(frozen=True, slots=True)
class Bin:
    """One bin of a reliability diagram."""

    low: float
    high: float
    n: int
    score: float | None
    right: float | None


def measure_calibration(scores: Vector, right: Vector) -> Calibration:
    """Score probabilities.

    Args:
        scores: in [0, 1].
        right: chance of each to be right, mostly 0 or 1.
    """
    if not len(scores):
        return Calibration(0, None, None, None, None, None, None, None)
    base = float(right.mean())
    brier = float(((scores - right) ** 2).mean())
    p = bounded(scores)
    loss = -(right * np.log(p) + (1 - right) * np.log1p(-p)).mean()
    return Calibration(
        n=len(scores),
        base_rate=base,
        auroc=auroc(scores, right),
        brier=brier,
        skill=1 - brier / (base * (1 - base)) if 0 < base < 1 else None,
        log_loss=float(loss),
        ece=_gap(scores, right, bins_by_width(scores)),
        ece_mass=_gap(scores, right, bins_by_mass(scores)),
    )


def auroc(scores: Vector, right: Vector, weights: Vector | None = None) -> float | None:
    """Return the area under the ROC curve; null where all are alike.

    A chance of being right counts as so much of a right and the rest of a wrong one.
    """
    times = np.ones_like(right) if weights is None else weights
    mass = np.concatenate([right * times, (1 - right) * times])
    labels = np.repeat([1, 0], len(right))
    kept = mass > 0
    if len(np.unique(labels[kept])) < 2:
        return None
    return float(roc_auc_score(labels[kept], np.tile(scores, 2)[kept], sample_weight=mass[kept]))


def reliability(scores: Vector, right: Vector) -> list[Bin]:
    """Return the bins of equal width; an empty one has null means."""
    edges = np.linspace(0, 1, BINS + 1)
    place = _place(scores)
    bins = []
    for number in range(BINS):
        inside = place == number
        known = bool(inside.any())
        bins.append(
            Bin(
                low=float(edges[number]),
                high=float(edges[number + 1]),
                n=int(inside.sum()),
                score=float(scores[inside].mean()) if known else None,
                right=float(right[inside].mean()) if known else None,
            )
        )
    return bins


def risk_coverage(scores: Vector, right: Vector) -> tuple[Vector, Vector]:
    """Return coverage and the share of wrong answers as less certain ones are given too."""
    order = np.argsort(-scores, kind="stable")
    given = np.arange(1, len(scores) + 1)
    return given / max(len(scores), 1), np.cumsum(1 - right[order]) / given


def _place(scores: Vector) -> npt.NDArray[np.int64]:
    return np.minimum((scores * BINS).astype(np.int64), BINS - 1)


def bounded(scores: Vector) -> Vector:
    """Return probabilities of which none is 0 or 1, so that a loss stays finite."""
    return np.clip(scores, _TINY, 1 - _TINY)


def bins_by_mass(scores: Vector) -> list[npt.NDArray[np.int64]]:
    """Return the rows of each bin of equal size, lowest scores first."""
    parts = np.array_split(np.argsort(scores, kind="stable"), BINS)
    return [members for members in parts if len(members)]


def bins_by_width(scores: Vector) -> list[npt.NDArray[np.int64]]:
    """Return the rows of each bin of equal width that has any."""
    place = _place(scores)
    return [np.flatnonzero(place == number) for number in np.unique(place)]


def _gap(scores: Vector, right: Vector, bins: list[npt.NDArray[np.int64]]) -> float:
    gaps = (len(b) * abs(scores[b].mean() - right[b].mean()) for b in bins)
    return float(sum(gaps) / len(scores))
