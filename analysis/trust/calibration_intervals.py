"""Intervals of calibration figures, by resampling problems.

All figures are functions of sums over rows, so a resample costs a few products of the problems' own
sums with how often each problem was drawn. Bins of equal mass stay those of the whole.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from analysis.trust.calibration import bins_by_mass, bins_by_width, bounded
from analysis.trust.figures import Draws, Figure, figure_of

Vector = npt.NDArray[np.float64]
FIGURES = ("ece", "ece_mass", "brier", "skill", "log_loss")


def calibration_figures(
    forms: Sequence[tuple[Vector, Vector]], problem: npt.NDArray[np.int64], draws: Draws
) -> dict[str, Figure]:
    """Return the figures of ``FIGURES``, each with its interval.

    Args:
        forms: scores and chances of being right, one pair a form of the score; their mean counts.
        problem: number of each row's problem, from 0.
        draws: resamples x problems.
    """
    whole = np.ones((1, draws.shape[1]), dtype=np.int64)
    values = np.mean([_measure(*form, problem, whole) for form in forms], axis=0)[:, 0]
    resampled = np.mean([_measure(*form, problem, draws) for form in forms], axis=0)
    return {
        name: figure_of(None if np.isnan(value) else float(value), row)
        for name, value, row in zip(FIGURES, values, resampled, strict=True)
    }


def _measure(scores: Vector, right: Vector, problem: npt.NDArray[np.int64], draws: Draws) -> Vector:
    """Return figures x resamples."""

    def total(values: Vector) -> Vector:
        sums = np.bincount(problem, weights=values, minlength=draws.shape[1])
        totals: Vector = draws.astype(float) @ sums
        return totals

    def gap(bins: Sequence[npt.NDArray[np.int64]]) -> Vector:
        inside = [np.isin(np.arange(len(scores)), members) for members in bins]
        gaps: Vector = np.sum([abs(total((scores - right) * each)) for each in inside], axis=0) / n
        return gaps

    n = total(np.ones_like(scores))
    base, brier = total(right) / n, total((scores - right) ** 2) / n
    p = bounded(scores)
    loss = -total(right * np.log(p) + (1 - right) * np.log1p(-p)) / n
    spread = base * (1 - base)
    with np.errstate(invalid="ignore", divide="ignore"):
        skill = np.where(spread > 0, 1 - brier / spread, np.nan)
    return np.array([gap(bins_by_width(scores)), gap(bins_by_mass(scores)), brier, skill, loss])
