"""The scores of a chain run, from its tables.

Each problem weighs the same, whatever its number of chains (``analysis/intervals.py``); which
chains count where is decided in ``analysis/unroll.py``.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from analysis.intervals import LEVEL, RESAMPLES, Estimate, Vector, estimate_means
from analysis.spending import Spending, measure_spending
from analysis.tables import STOP_REASONS, RunTables, check_complete
from analysis.unroll import is_closed, steps_made, unroll

FORMAT = 1
_DIGITS = 9
_SCORES = ("tom", "sc", "ssc", "pfm")
_ENDLESS = ("endless", "at_least", "at_most")


@dataclass(frozen=True, slots=True)
class StepScores:
    """The scores at step n (n >= 1); IdentityChain, arXiv 2310.14053, section 4.3.

    The paper's text reads SC_1 as the mean TOM, its release counts TOM = 1. At n = 1 the first is
    ``tom`` and the second ``sc``; its published tables are the second.
    """

    step: int
    tom: Estimate
    """Mean share of tests whose output at step n equals that at step n - 1."""
    sc: Estimate
    """SC_n: share of chains whose outputs match at every transition 1 .. n."""
    ssc: Estimate
    """SSC_n: share of chains whose programs 0 .. n all pass."""
    pfm: Estimate
    """P/FM: share of chains whose programs n - 1 and n both pass or both fail."""


@dataclass(frozen=True, slots=True)
class EndlessScores:
    """SC at n = infinity, sound where decoding is greedy and the engine batch-invariant.

    A closed chain is consistent for ever if one whole turn of its cycle is; an open one that has
    broken stays broken; an open one that has not is undecided, and is counted as broken in
    ``at_least`` and as holding in ``at_most``.
    """

    sc: Estimate
    """SC_infinity of the closed chains alone: exact for each, but these are the chains that
    closed, not a fair sample of all.
    """
    at_least: Estimate
    """Lower bound of SC_infinity over all chains."""
    at_most: Estimate
    """Upper bound of SC_infinity over all chains."""
    closed: int
    """Chains that repeat for ever."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How many chains ended for one reason."""

    reason: str
    chains: int
    mean_step: float
    """Mean of the step at which it was known."""


@dataclass(frozen=True, slots=True)
class ChainMetrics:
    """All that one chain run says."""

    problems: int
    chains: int
    length: int
    seed: int
    """Of the bootstrap's resamples."""
    pass_at: dict[int, Estimate]
    """pass@k of step 0, by k."""
    steps: tuple[StepScores, ...]
    """Step 1 first."""
    endless: EndlessScores
    endings: tuple[Ending, ...]
    """In the order of ``analysis.tables.STOP_REASONS``; reasons that occurred only."""
    spending: Spending

    def to_json(self) -> dict[str, Any]:
        """Return the content of ``metrics.json``: plain values, floats to 9 digits after the
        point, so that runs of equal results give equal text; null for what is undefined.
        """
        intervals = {"level": LEVEL, "unit": "problem", "resamples": RESAMPLES, "seed": self.seed}
        content = {"format": FORMAT, **asdict(self), "intervals": intervals}
        del content["seed"]
        plain: dict[str, Any] = _to_plain(content)
        return plain


def chain_metrics(
    tables: RunTables, length: int, *, ks: Sequence[int] = (1,), seed: int = 0
) -> ChainMetrics:
    """Return the scores of a run at steps 0 .. ``length``.

    Args:
        tables: the run.
        length: steps after step 0; at most what the run asked for.
        ks: which pass@k to give.
        seed: of the bootstrap's resamples.

    Raises:
        UserError: the tables contradict each other.
        ValueError: ``length`` goes beyond the run.
    """
    check_complete(tables)
    chains = tables.chains.collect()
    asked, turn = chains.select(pl.col("length").min(), made=steps_made().max()).row(0)
    if asked is not None and length > asked:
        raise ValueError(f"length {length} goes beyond a run of {asked} steps")
    # A cycle that closes at the last step proves its transition one step later.
    unrolled = unroll(tables, max(length, turn or 0)).collect()
    by_name = _estimate(unrolled, chains, length=length, ks=ks, seed=seed)
    return ChainMetrics(
        problems=chains["problem_id"].n_unique(),
        chains=chains.height,
        length=length,
        seed=seed,
        pass_at={k: by_name[f"pass@{k}"] for k in ks},
        steps=tuple(
            StepScores(n, *(by_name[f"{score}_{n}"] for score in _SCORES))
            for n in range(1, length + 1)
        ),
        endless=EndlessScores(
            sc=by_name["endless"],
            at_least=by_name["at_least"],
            at_most=by_name["at_most"],
            closed=int(chains.select(is_closed().sum()).item()),
        ),
        endings=_endings(chains),
        spending=measure_spending(tables, length),
    )


def pass_at_k(samples: Vector, correct: Vector, k: int) -> Vector:
    """Return each problem's unbiased pass@k, NaN with fewer than k samples.

    1 - C(n - c, k) / C(n, k) for c of n samples correct (Codex, arXiv 2107.03374, section 2.1), as
    a product of k quotients, which neither overflows nor cancels.
    """
    drawn = np.arange(k)
    left = np.maximum(samples - correct, 0.0)[:, None] - drawn
    total = samples[:, None] - drawn
    enough = samples >= k
    quotients = np.clip(left, 0.0, None) / np.where(enough[:, None], total, 1.0)
    return np.where(enough, 1.0 - quotients.prod(axis=1), np.nan)


def _estimate(
    unrolled: pl.DataFrame, chains: pl.DataFrame, *, length: int, ks: Sequence[int], seed: int
) -> dict[str, Estimate]:
    """Return every score's estimate, by name."""
    scores = {
        f"{score}_{n}": pl.col(score).filter(pl.col("step") == n)
        for n in range(1, length + 1)
        for score in _SCORES
    }
    first = pl.col("passed").filter(pl.col("step") == 0)
    problems = _per_problem(unrolled, scores, samples=first.count(), correct=first.sum()).join(
        _per_problem(_endless(unrolled, chains, length), {name: pl.col(name) for name in _ENDLESS}),
        "problem_id",
        how="left",
    )
    named = [*scores, *_ENDLESS]
    values = problems.select(pl.col(named).cast(pl.Float64).fill_null(np.nan)).to_numpy()
    counts = problems.select(pl.col(f"{name}#").sum() for name in named).to_numpy()
    samples, correct = (problems[name].to_numpy().astype(float) for name in ("samples", "correct"))
    passes = [pass_at_k(samples, correct, k)[:, None] for k in ks]
    single = chains.height == problems.height
    estimates = estimate_means(
        np.hstack([*passes, values]),
        counts=[*(int(samples[samples >= k].sum()) for k in ks), *counts.ravel().tolist()],
        binary=[single and not name.startswith("tom_") for name in [*map(str, ks), *named]],
        of=chains.height,
        seed=seed,
    )
    return dict(zip([*(f"pass@{k}" for k in ks), *named], estimates, strict=True))


def _endless(unrolled: pl.DataFrame, chains: pl.DataFrame, length: int) -> pl.DataFrame:
    """Return each chain's SC at infinity and its bounds; null where it counts in none."""
    sc_at = pl.col("sc").filter
    told = (
        unrolled.join(chains.select("chain_id", closed=is_closed(), turn=steps_made()), "chain_id")
        .group_by("problem_id", "chain_id")
        .agg(
            pl.col("closed").first(),
            turned=sc_at(pl.col("step") == pl.col("turn")).first(),
            last=sc_at(pl.col("step") == length).first(),
        )
    )
    settled = pl.when(pl.col("closed")).then(pl.col("turned")).when(~pl.col("last")).then(False)
    undecided = pl.when(pl.col("last"))
    return told.select(
        "problem_id",
        endless=pl.when(pl.col("closed")).then(pl.col("turned")),
        at_least=pl.coalesce(settled, undecided.then(False)),
        at_most=pl.coalesce(settled, undecided.then(True)),
    )


def _per_problem(frame: pl.DataFrame, scores: dict[str, pl.Expr], **extra: pl.Expr) -> pl.DataFrame:
    """Return each problem's mean of every score, and how many chains have it (``NAME#``)."""
    return (
        frame.group_by("problem_id")
        .agg(
            **{name: score.mean() for name, score in scores.items()},
            **{f"{name}#": score.count() for name, score in scores.items()},
            **extra,
        )
        .sort("problem_id")
    )


def _endings(chains: pl.DataFrame) -> tuple[Ending, ...]:
    counts = chains.group_by(reason="stop_reason").agg(
        chains=pl.len(), mean_step=pl.col("stop_step").mean()
    )
    rows = counts.rows(named=True)
    return tuple(Ending(**r) for r in sorted(rows, key=lambda r: STOP_REASONS.index(r["reason"])))


def _to_plain(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, _DIGITS)
    if isinstance(value, dict):
        return {str(key): _to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_plain(item) for item in value]
    return value
