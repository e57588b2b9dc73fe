"""Numbers with intervals; the problem is what was drawn by chance."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.intervals import LEVEL

Vector = npt.NDArray[np.float64]
Draws = npt.NDArray[np.int64]
RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Figure:
    """One number with its 95 % interval; null where undefined."""

    value: float | None
    low: float | None = None
    high: float | None = None


def draw_problems(problems: int, seed: int) -> Draws:
    """Return how often each problem is in each resample: resamples x problems."""
    shares = np.full(problems, 1 / problems)
    generator = np.random.default_rng(seed)
    draws: Draws = generator.multinomial(problems, shares, size=RESAMPLES)
    return draws


def figure_of(value: float | None, resampled: Vector) -> Figure:
    """Return a number with the percentile interval of its resamples, NaN where undefined."""
    known = resampled[~np.isnan(resampled)]
    if value is None or not len(known):
        return Figure(None if value is None else float(value))
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Figure(float(value), float(low), float(high))
