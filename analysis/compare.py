"""Two or more runs on the same problems: what differs, and whether the problems can tell.

Theory of operation. Runs share their problems, so they are compared problem by problem: easy and
hard ones cancel. For each score a problem has one value a run, the mean of its chains, and the
difference of two runs is the mean of the problems' differences. Three questions, each with its own
method:

- How large? The interval of that mean, from resampling problems. A difference lies in [-1, 1];
  with (1 + d) / 2 it becomes a mean in [0, 1] and ``analysis/intervals.py`` applies, its choices
  for few problems included. Where no problem differs at all, a bootstrap would claim certainty; but
  the mean cannot exceed the share of problems that would differ, and the upper end of the exact
  interval of 0 in n bounds that.
- For yes/no scores with one chain a problem: exact McNemar (Psychometrika 12, 1947). Given
  the problems on which the runs disagree, equal runs win each by the toss of a coin.
- Can we tell? Only if the interval leaves out 0 and McNemar's p, where there is one, is at most
  5 %. With fewer than six disagreements p cannot get there, whatever they say.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import comb

import numpy as np
import polars as pl

from analysis.intervals import Estimate, Vector, estimate_means, exact_interval
from analysis.tables import RunTables, check_complete
from analysis.unroll import unroll
from conf import UserError

ALPHA = 0.05
FEWEST_DISAGREEMENTS = 6
VERDICTS = ("passed", "sc", "ssc", "pfm")


class Finding(StrEnum):
    """What the problems tell about one score."""

    HIGHER = "higher"
    LOWER = "lower"
    SAME = "same"
    """On every problem."""
    OPEN = "cannot tell"


@dataclass(frozen=True, slots=True)
class Run:
    """One run to compare."""

    name: str
    tables: RunTables
    scoring: str
    """What makes its verdicts comparable with another's, as the run's manifest has it."""


@dataclass(frozen=True, slots=True)
class McNemar:
    """Exact two-sided test of paired verdicts."""

    gained: int
    """Problems that only the other run has."""
    lost: int
    """Problems that only the base run has."""
    p: float
    """Chance of so uneven a split, or a more uneven one, of equal runs."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One score of two runs."""

    score: str
    """``passed_0`` (Pass@1), then ``tom_n``, ``sc_n``, ``ssc_n`` and ``pfm_n`` for each step n."""
    base: float | None
    """The base run's value over the problems of both; null where no problem has both."""
    other: float | None
    difference: Estimate
    """Other minus base, in [-1, 1]; ``n`` is problems with both values, ``of`` common problems."""
    mcnemar: McNemar | None
    """Null for TOM, and where a problem has several chains."""
    gained: tuple[str, ...]
    """Problems whose verdicts got better from base to other; empty for TOM."""
    lost: tuple[str, ...]
    """Problems whose verdicts got worse."""
    finding: Finding
    reason: str
    """How the finding was decided, as a clause."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run against the base run."""

    base: str
    other: str
    problems: int
    """Problems of both runs."""
    left_out: int
    """Problems of only one of them."""
    length: int
    """Steps compared: those of the shorter run."""
    notes: tuple[str, ...]
    """What is different about the runs themselves, where that was allowed."""
    differences: tuple[Difference, ...]


def compare_runs(
    runs: Sequence[Run], *, allow_different: bool = False, seed: int = 0
) -> tuple[Comparison, ...]:
    """Compare every run with the first.

    Args:
        runs: at least two.
        allow_different: compare runs of other problems (on the common ones) or of other scoring.
        seed: of the intervals' resamples.

    Raises:
        UserError: fewer than two runs, a run without chains, runs on different problems or with
            different scoring that were not allowed, or no common problem.
    """
    if len(runs) < 2:
        raise UserError("a comparison needs at least two runs")
    base, *others = runs
    return tuple(
        _compare(base, other, allow_different=allow_different, seed=seed) for other in others
    )


def mcnemar(gained: int, lost: int) -> McNemar:
    """Return the exact test: twice the smaller tail of a fair coin tossed once a disagreement."""
    tosses = gained + lost
    tail = sum(comb(tosses, k) for k in range(min(gained, lost) + 1))
    return McNemar(gained, lost, min(1.0, 2 * tail / 2**tosses))


def _compare(base: Run, other: Run, *, allow_different: bool, seed: int) -> Comparison:
    notes = _differences_of_kind(base, other)
    if notes and not allow_different:
        raise UserError(
            f"{base.name} and {other.name}: {'; '.join(notes)}. "
            "To compare them all the same, on their common problems, add allow_different=true"
        )
    length = min(_length(base), _length(other))
    values = [_per_problem(run, length) for run in (base, other)]
    common = values[0].join(values[1], "problem_id", suffix="#")
    if common.is_empty():
        raise UserError(f"{base.name} and {other.name} have no problem in common")
    scores = [name for name in values[0].columns if name not in ("problem_id", "chains")]
    single = common.select((pl.col("chains", "chains#") == 1).all()).row(0) == (True, True)
    return Comparison(
        base=base.name,
        other=other.name,
        problems=common.height,
        left_out=sum(frame.height - common.height for frame in values),
        length=length,
        notes=tuple(notes),
        differences=tuple(_difference(common, score, single=single, seed=seed) for score in scores),
    )


def _differences_of_kind(base: Run, other: Run) -> list[str]:
    """Say what keeps two runs from being compared as they are."""
    notes = []
    if base.scoring != other.scoring:
        notes.append(f"their scoring differs ({base.scoring} and {other.scoring})")
    ours, theirs = (_problems(run) for run in (base, other))
    if only := len(ours ^ theirs):
        example = min(ours ^ theirs)[1]
        notes.append(f"problems in one run only: {only}, such as {example!r}")
    return notes


def _problems(run: Run) -> set[tuple[str, str]]:
    check_complete(run.tables)
    return set(run.tables.chains.select("dataset", "problem_id").unique().collect().rows())


def _length(run: Run) -> int:
    shortest = run.tables.chains.select(pl.col("length").min()).collect().item()
    if shortest is None:
        raise UserError(f"{run.name}: has no finished chain to compare")
    return int(shortest)


def _per_problem(run: Run, length: int) -> pl.DataFrame:
    """Return each problem's number of chains and mean of every score; null where it has none."""
    named = [("passed", 0)] + [
        (score, step) for step in range(1, length + 1) for score in ("tom", *VERDICTS[1:])
    ]
    means = [
        pl.col(score)
        .filter(pl.col("step") == step)
        .cast(pl.Float64)
        .mean()
        .alias(f"{score}_{step}")
        for score, step in named
    ]
    chains = pl.col("chain_id").n_unique().alias("chains")
    return (
        unroll(run.tables, length)
        .group_by("problem_id")
        .agg(chains, *means)
        .sort("problem_id")
        .collect()
    )


def _difference(common: pl.DataFrame, score: str, *, single: bool, seed: int) -> Difference:
    both = common.select("problem_id", base=score, other=f"{score}#").drop_nulls()
    deltas = (both["other"] - both["base"]).to_numpy()
    difference = _estimate(deltas, of=common.height, seed=seed)
    is_verdict = score.partition("_")[0] in VERDICTS
    gained = both.filter(pl.col("other") > pl.col("base"))["problem_id"]
    lost = both.filter(pl.col("other") < pl.col("base"))["problem_id"]
    test = mcnemar(len(gained), len(lost)) if is_verdict and single else None
    finding, reason = _judge(difference, test, changed=int(np.count_nonzero(deltas)))
    return Difference(
        score=score,
        base=_mean(both["base"]),
        other=_mean(both["other"]),
        difference=difference,
        mcnemar=test,
        gained=_in_order(gained) if is_verdict else (),
        lost=_in_order(lost) if is_verdict else (),
        finding=finding,
        reason=reason,
    )


def _in_order(problems: pl.Series) -> tuple[str, ...]:
    """Sort names as people count: 2 before 10."""
    return tuple(
        sorted(problems, key=lambda name: [p.zfill(12) for p in re.split(r"([0-9]+)", name)])
    )


def _mean(values: pl.Series) -> float | None:
    return float(np.mean(values.to_numpy())) if len(values) else None


def _estimate(deltas: Vector, *, of: int, seed: int) -> Estimate:
    """Return the mean difference with its interval; of swapped runs exactly the opposite."""
    n = len(deltas)
    if not n:
        return Estimate(None, None, None, n=0, of=of)
    changed = deltas[deltas != 0]
    if not len(changed):
        bound = exact_interval(0, n)[1]
        return Estimate(0.0, -bound, bound, n=n, of=of, method="exact")
    # Resampling depends on the order of values, so both directions take the same one.
    sign = float(np.sign(changed[0]))
    moved = ((1 + sign * deltas) / 2)[:, None]
    [found] = estimate_means(moved, counts=[n], binary=[False], of=of, seed=seed)
    low, high = sorted(sign * (2 * end - 1) for end in (found.low, found.high) if end is not None)
    return Estimate(float(np.mean(deltas)), low, high, n=n, of=of, method=found.method)


def _judge(difference: Estimate, test: McNemar | None, *, changed: int) -> tuple[Finding, str]:
    """Say whether the runs differ in a score, and how that was decided."""
    value, low, high = difference.value, difference.low, difference.high
    if value is None or low is None or high is None:
        return Finding.OPEN, "no problem has this score in both runs"
    n = difference.n
    if not changed:
        return Finding.SAME, f"{n} problems rule out more than {_points(high)} points either way"
    if test is not None and test.gained + test.lost < FEWEST_DISAGREEMENTS:
        return (
            Finding.OPEN,
            f"the runs disagree on {changed} of {n} problems; from fewer than "
            f"{FEWEST_DISAGREEMENTS} nothing can be told at 5 %",
        )
    if low <= 0 <= high:
        half = (high - low) / 2
        needed = _problems_needed(value, half, n)
        enough = f", and this one about {needed:,} problems" if needed else ""
        return (
            Finding.OPEN,
            f"the interval holds 0: in {n} problems a difference shows from about "
            f"{_points(half)} points on{enough}",
        )
    if test is not None and test.p > ALPHA:
        return Finding.OPEN, f"McNemar's p is {test.p:.3f}: {n} problems are too few"
    return (Finding.HIGHER if value > 0 else Finding.LOWER), "the interval leaves out 0"


def _problems_needed(value: float, half: float, n: int) -> int | None:
    """Return how many problems would bring the interval's end to 0, if all else stays the same.

    An interval shrinks with the root of the number of problems.
    """
    if value == 0:
        return None
    needed = int(np.ceil(n * (half / value) ** 2))
    return needed if needed > n else None


def _points(share: float) -> str:
    return f"{100 * share:.1f}"
