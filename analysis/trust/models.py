"""From features to the probability that a program is right.

Three forms. ``PooledModel`` is the paper's: one logistic regression over all programs of all
problems. ``TwoStageModel`` first learns to rank: features are standardised within each problem and
every problem has the same weight; then a second logistic regression turns the ranker's score, its
place in the problem and all features as they are into a probability. ``BoostedModel`` grows trees.

A missing feature is taken for the mean: of the problem in the first stage, of all elsewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.model_selection import GroupKFold

from analysis.trust.linear import Linear, fit_linear
from analysis.trust.trees import Forest, grow_forest

Vector = npt.NDArray[np.float64]
FOLDS = 5
RANKER_C = 0.003
CALIBRATOR_C = 0.005
PROBLEM_PREFIX = "problem_"
"""Starts the names of features that are the same for all programs of a problem."""
_RANKER = ("rank_score", "rank_gap", "rank_best", "rank_mean")


class Model(Protocol):
    """What can be fitted and asked."""

    def fit(self, frame: pl.DataFrame) -> Self:
        """Learn from rows with ``problem_id``, ``correct`` and the features."""
        ...

    def predict(self, frame: pl.DataFrame) -> Vector:
        """Return the probability of each row to be right."""
        ...


@dataclass
class PooledModel:
    """The paper's logistic regression (arXiv 2210.00848)."""

    features: tuple[str, ...]
    c: float = 1.0
    """Inverse strength of the L2 penalty; the paper does not say whether it has one."""
    linear: Linear | None = None

    def fit(self, frame: pl.DataFrame) -> Self:
        """Learn from labelled rows."""
        self.linear = fit_linear(_matrix(frame, self.features), _right(frame), c=self.c)
        return self

    def predict(self, frame: pl.DataFrame) -> Vector:
        """Return probabilities."""
        return _fitted(self.linear).probability(_matrix(frame, self.features))


@dataclass
class TwoStageModel:
    """Rank within the problem, then calibrate."""

    features: tuple[str, ...]
    """Those that start with ``problem_`` go to the second stage only."""
    ranker: Linear | None = None
    calibrator: Linear | None = None

    def fit(self, frame: pl.DataFrame) -> Self:
        """Learn from labelled rows."""
        right = _right(frame)
        inner = _within(frame, self._inner())
        self.ranker = fit_linear(inner, right, c=RANKER_C, weights=_equal_problems(frame))
        self.calibrator = fit_linear(self._second(frame), right, c=CALIBRATOR_C)
        return self

    def predict(self, frame: pl.DataFrame) -> Vector:
        """Return probabilities."""
        return _fitted(self.calibrator).probability(self._second(frame))

    def _inner(self) -> list[str]:
        return [name for name in self.features if not name.startswith(PROBLEM_PREFIX)]

    def _second(self, frame: pl.DataFrame) -> Vector:
        score = _fitted(self.ranker).score(_within(frame, self._inner()))
        ranked = frame.with_columns(rank_score=pl.Series(score))
        own = pl.col("rank_score")
        best, mean = own.max().over("problem_id"), own.mean().over("problem_id")
        ranked = ranked.with_columns(rank_gap=best - own, rank_best=best, rank_mean=mean)
        return _matrix(ranked, [*_RANKER, *self.features])


@dataclass
class BoostedModel:
    """Gradient-boosted trees."""

    features: tuple[str, ...]
    seed: int = 0
    forest: Forest | None = None

    def fit(self, frame: pl.DataFrame) -> Self:
        """Learn from labelled rows."""
        self.forest = grow_forest(_matrix(frame, self.features), _right(frame), seed=self.seed)
        return self

    def predict(self, frame: pl.DataFrame) -> Vector:
        """Return probabilities."""
        assert self.forest is not None, "the model has not been fitted"
        return self.forest.probability(_matrix(frame, self.features))


def cross_predict(model: Model, frame: pl.DataFrame, *, seed: int = 0) -> Vector:
    """Return each row's probability by a model that was fitted on other problems.

    Args:
        model: refitted for each fold.
        frame: labelled rows.
        seed: of the folds; a problem is never on both sides.
    """
    predicted = np.full(frame.height, np.nan)
    folds = GroupKFold(FOLDS, shuffle=True, random_state=seed)
    for train, test in folds.split(frame, groups=frame["problem_id"].to_numpy()):
        predicted[test] = model.fit(frame[train]).predict(frame[test])
    return predicted


def _fitted(linear: Linear | None) -> Linear:
    assert linear is not None, "the model has not been fitted"
    return linear


def _right(frame: pl.DataFrame) -> list[bool]:
    return frame["correct"].to_list()


def _matrix(frame: pl.DataFrame, names: Sequence[str]) -> Vector:
    columns = frame.select(pl.col(name).cast(pl.Float64).fill_null(float("nan")) for name in names)
    matrix: Vector = columns.to_numpy()
    return matrix


def _within(frame: pl.DataFrame, names: Sequence[str]) -> Vector:
    """Standardise within each problem; what does not vary, or is missing, becomes 0."""

    def standard(name: str) -> pl.Expr:
        value = pl.col(name).cast(pl.Float64)
        spread = value.std(ddof=0).over("problem_id")
        z = (value - value.mean().over("problem_id")) / spread
        return pl.when(spread > 1e-9).then(z).otherwise(0.0).fill_null(0.0).alias(name)

    matrix: Vector = frame.select("problem_id", *map(standard, names)).drop("problem_id").to_numpy()
    return matrix


def _equal_problems(frame: pl.DataFrame) -> Vector:
    """Weights that sum to the same in each problem, and to the number of rows in all."""
    weights: Vector = frame.select(1 / pl.len().over("problem_id")).to_series().to_numpy()
    scaled: Vector = weights * (frame.height / weights.sum())
    return scaled
