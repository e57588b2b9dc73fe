"""A logistic regression on standardised features, as plain numbers that can be kept in a file."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

Vector = npt.NDArray[np.float64]
_SMALLEST_SPREAD = 1e-9
MOST_ITERATIONS = 5000


@dataclass(frozen=True, slots=True)
class Linear:
    """Weights for standardised features; a missing feature counts as the mean."""

    center: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float

    def score(self, matrix: Vector) -> Vector:
        """Return the log-odds of each row."""
        scaled = (matrix - np.array(self.center)) / np.array(self.scale)
        score: Vector = np.nan_to_num(scaled, nan=0.0) @ np.array(self.weights) + self.bias
        return score

    def probability(self, matrix: Vector) -> Vector:
        """Return the probability of each row."""
        return sigmoid(self.score(matrix))


def fit_linear(
    matrix: Vector, right: Sequence[bool], *, c: float, weights: Vector | None = None
) -> Linear:
    """Fit by maximum likelihood with an L2 penalty.

    Args:
        matrix: rows x features, NaN where missing.
        right: label of each row; both kinds must be there.
        c: inverse strength of the penalty, against the sum of the rows' losses.
        weights: of the rows.
    """
    known = ~np.isnan(matrix)
    counts = np.maximum(known.sum(axis=0), 1)
    center = np.where(known, matrix, 0.0).sum(axis=0) / counts
    squares = np.where(known, matrix - center, 0.0) ** 2
    spread = np.sqrt(squares.sum(axis=0) / len(matrix))
    scale = np.where(spread > _SMALLEST_SPREAD, spread, 1.0)
    scaled = np.nan_to_num((matrix - center) / scale, nan=0.0)
    fitted = LogisticRegression(C=c, max_iter=MOST_ITERATIONS)
    fitted.fit(scaled, np.asarray(right), sample_weight=weights)
    return Linear(
        center=tuple(map(float, center)),
        scale=tuple(map(float, scale)),
        weights=tuple(map(float, fitted.coef_[0])),
        bias=float(fitted.intercept_[0]),
    )


def sigmoid(score: Vector) -> Vector:
    """Return the probability that a log-odds stands for."""
    probability: Vector = 1.0 / (1.0 + np.exp(-np.clip(score, -500, 500)))
    return probability


def log_odds(probability: Vector) -> Vector:
    """Return the log-odds of probabilities, bounded at 1e-9."""
    bounded = np.clip(probability, 1e-9, 1 - 1e-9)
    odds: Vector = np.log(bounded / (1 - bounded))
    return odds
