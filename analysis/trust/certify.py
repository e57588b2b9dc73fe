"""A threshold with a guarantee that holds for finite samples, or the answer that there is none."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import beta

Vector = npt.NDArray[np.float64]
GRID = (0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5)
"""Thresholds that are tried. Fixed here, never chosen by the data, or the guarantee is void."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """What was certified; ``threshold`` is null where nothing could be."""

    threshold: float | None
    bound: float | None
    """Upper bound of the share of wrong answers above the threshold."""
    answered: int
    """Calibration problems above the threshold."""
    wrong: int
    target: float
    confidence: float

    def __str__(self) -> str:
        promise = f"at most {self.target:.0%} wrong, {self.confidence:.0%} confidence"
        if self.threshold is None:
            return f"{promise}: not certifiable with these data"
        return f"{promise}: answer at {self.threshold:.2f} or more (bound {self.bound:.3f})"


def certify_threshold(
    scores: Vector,
    right: npt.NDArray[np.bool_],
    *,
    target: float,
    confidence: float = 0.9,
    grid: Sequence[float] = GRID,
) -> Certificate:
    """Return the lowest threshold whose answers are certified to be wrong at most so often.

    Each threshold of the grid gets the exact upper bound of Clopper and Pearson (1934) on the share
    of wrong answers among those given, at an error probability of (1 - confidence) / size of the
    grid. By the union bound all bounds hold at once with the confidence, so any threshold that
    meets the target may be taken. It is true for problems like those given, which must not have
    been used to fit the scores.

    Args:
        scores: of the chosen program, one a problem, in [0, 1].
        right: whether it is right.
        target: share of wrong answers that may not be exceeded.
        confidence: of the whole statement.
        grid: thresholds, fixed in advance.
    """
    allowed = (1 - confidence) / len(grid)
    for threshold in sorted(grid):
        given = scores >= threshold
        answered, wrong = int(given.sum()), int((given & ~right).sum())
        bound = upper_bound(wrong, answered, allowed)
        if bound <= target:
            return Certificate(threshold, bound, answered, wrong, target, confidence)
    return Certificate(None, None, 0, 0, target, confidence)


def upper_bound(wrong: int, answered: int, error: float) -> float:
    """Return the one-sided Clopper-Pearson bound of a share; 1 where nothing was answered."""
    if wrong >= answered:
        return 1.0
    return float(beta.ppf(1 - error, wrong + 1, answered - wrong))
