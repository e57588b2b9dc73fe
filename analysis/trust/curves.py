"""Two curves at a few fixed points, with intervals: precision by recall, and risk by coverage."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from analysis.trust.figures import Draws, Figure, figure_of
from analysis.trust.selection import Selection

Vector = npt.NDArray[np.float64]
RECALLS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
COVERAGES = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)


def precision_by_recall(chosen: Selection, draws: Draws) -> dict[float, Figure]:
    """Return the precision at the highest threshold that reaches each recall; null: none does."""

    def at(counts: npt.NDArray[np.int64] | None) -> Vector:
        curve = chosen.curve(counts)
        return _first(curve.recall, curve.precision, RECALLS)

    return _figures(RECALLS, at, draws)


def risk_by_coverage(chosen: Selection, draws: Draws) -> dict[float, Figure]:
    """Return the share of wrong answers when so many problems, the surest, are answered."""
    order = np.argsort(-chosen.best, kind="stable")
    wrong = 1 - chosen.top_right[order]

    def at(counts: npt.NDArray[np.int64] | None) -> Vector:
        times = np.ones(len(order)) if counts is None else counts[order].astype(float)
        given = np.cumsum(times)
        risk = np.cumsum(times * wrong) / np.maximum(given, 1)
        return _first(given / given[-1], risk, COVERAGES)

    return _figures(COVERAGES, at, draws)


def _first(reached: Vector, value: Vector, points: Sequence[float]) -> Vector:
    """Return the value where each point is first reached; NaN where it never is."""
    at = np.searchsorted(reached, np.array(points) - 1e-12)
    known: Vector = np.append(value, np.nan)[at]
    return known


def _figures(
    points: Sequence[float],
    at: Callable[[npt.NDArray[np.int64] | None], Vector],
    draws: Draws,
) -> dict[float, Figure]:
    values, resampled = at(None), np.array([at(draw) for draw in draws])
    return {
        point: figure_of(None if np.isnan(value) else float(value), column)
        for point, value, column in zip(points, values, resampled.T, strict=True)
    }
