"""Means with 95 % intervals, where the problem is what was drawn by chance.

Chains of one problem resemble each other, so each problem counts once, with the mean of its known
chains, and intervals come from how problems differ. Three methods, and each estimate says which:

- ``exact``: Clopper and Pearson (Biometrika 26, 1934), for yes/no scores with one chain a problem
  and fewer than 30 problems, and for a score that is the same 0 or 1 in all of any number: there a
  bootstrap, which can only draw what it saw, would claim certainty.
- ``wilson``: Wilson's score interval (JASA 22, 1927) with fractional successes, for the other
  scores in those two cases. A value in [0, 1] varies at most as much as a coin of the same mean,
  so it errs on the wide side.
- ``bootstrap``: percentile bootstrap over problems (Efron and Tibshirani 1993, chapter 13), 2,000
  seeded resamples.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

FEW_PROBLEMS = 30
RESAMPLES = 2000
LEVEL = 0.95
_CELLS_AT_ONCE = 1_000_000

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """One score with its interval; ``value``, ``low``, ``high`` and ``method`` are null where no
    chain has the score.
    """

    value: float | None
    """Mean over problems of each problem's mean, in [0, 1]."""
    low: float | None
    """Lower end of the 95 % interval."""
    high: float | None
    """Upper end of the 95 % interval."""
    n: int
    """Chains that count: the denominator."""
    of: int
    """Chains in the run."""
    method: str | None = None
    """``exact``, ``wilson`` or ``bootstrap``."""


def estimate_means(
    values: Matrix, *, counts: Sequence[int], binary: Sequence[bool], of: int, seed: int = 0
) -> list[Estimate]:
    """Return one estimate a column.

    Args:
        values: problems x scores, each problem's mean in [0, 1]; NaN where it has none.
        counts: chains that have the score, one a column.
        binary: whether a column's values are single yes/no results, one a column.
        of: chains in the run.
        seed: of the resamples.
    """
    return [
        _estimate(column, n=n, of=of, binary=is_binary, seed=seed)
        for column, n, is_binary in zip(values.T, counts, binary, strict=True)
    ]


def bootstrap_interval(
    values: Vector, *, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """Return the percentile interval of the mean of all problems that have the score.

    A mean depends only on how often each distinct value is drawn, and those counts are multinomial.
    Drawn as such they cost the number of distinct values, not of problems.

    Args:
        values: one a problem; NaN where it lacks the score, which a resample may draw too.
        seed: of the resamples.
        resamples: how many.
    """
    distinct, counts = np.unique(values, return_counts=True)
    known = ~np.isnan(distinct)
    worth = np.where(known, distinct, 0.0)
    generator = np.random.default_rng(seed)
    means = np.empty(resamples)
    rows = max(1, _CELLS_AT_ONCE // len(distinct))
    for start in range(0, resamples, rows):
        size = min(rows, resamples - start)
        drawn = generator.multinomial(len(values), counts / len(values), size=size)
        with np.errstate(invalid="ignore"):
            means[start : start + size] = (drawn * worth).sum(axis=1) / drawn[:, known].sum(axis=1)
    low, high = np.nanquantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def exact_interval(successes: int, n: int) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a proportion; ``n`` at least 1."""
    return _exact_low(successes, n), 1.0 - _exact_low(n - successes, n)


def wilson_interval(successes: float, n: int) -> tuple[float, float]:
    """Return Wilson's interval of a mean of ``n`` values in [0, 1] that sum to ``successes``."""
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    share = min(1.0, successes / n)
    center = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # Rounding must not push an end past the value, which the exact ends touch at 0 and 1.
    return max(0.0, min(share, center - half)), min(1.0, max(share, center + half))


def _estimate(values: Vector, *, n: int, of: int, binary: bool, seed: int) -> Estimate:
    known = values[~np.isnan(values)]
    if not len(known):
        return Estimate(None, None, None, n=n, of=of)
    total = math.fsum(known)
    if len(known) >= FEW_PROBLEMS and known.min() < known.max():
        method, (low, high) = "bootstrap", bootstrap_interval(values, seed=seed)
    elif binary:
        method, (low, high) = "exact", exact_interval(round(total), len(known))
    else:
        method, (low, high) = "wilson", wilson_interval(total, len(known))
    return Estimate(total / len(known), low, high, n=n, of=of, method=method)


def _exact_low(successes: int, n: int) -> float:
    """Return the p at which ``successes`` or more of n have probability 2.5 %, by bisection."""
    low, high = 0.0, successes / n
    if not successes:
        return low
    while (middle := (low + high) / 2) not in (low, high):
        if _upper_tail(successes, n, middle) < (1 - LEVEL) / 2:
            low = middle
        else:
            high = middle
    return middle


def _upper_tail(successes: int, n: int, p: float) -> float:
    if p == 0.0:
        return 0.0
    odds = math.log(p), math.log1p(-p)
    return math.fsum(
        math.exp(
            math.lgamma(n + 1)
            - math.lgamma(k + 1)
            - math.lgamma(n - k + 1)
            + k * odds[0]
            + (n - k) * odds[1]
        )
        for k in range(successes, n + 1)
    )
