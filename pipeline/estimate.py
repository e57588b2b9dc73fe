"""What a run will cost, from a few of its chains; pure.

Chains are alike in kind and very unlike in length, so sums over chains come with the interval of a
bootstrap over the probe's chains. Time is tokens over the speed of a full batch; it is never less
than the time of one whole chain, whose requests wait for each other.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

PROBE_SHARE = 0.01
LEAST_CHAINS = 4
RESAMPLES = 1000


@dataclass(frozen=True)
class Amount:
    """A total that is expected, with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class RunEstimate:
    """What a whole run is expected to cost."""

    probed: int
    """Chains that were made to know it."""
    requests: Amount
    tokens_read: Amount
    tokens_written: Amount
    tokens_per_s: float
    """Tokens written by the engines with a full batch."""
    seconds: Amount
    """From the first request to the last answer, without starting anything."""


def probe_size(chains: int) -> int:
    """Return how many chains a probe makes: 1 %, and at least a few."""
    return min(chains, max(LEAST_CHAINS, math.ceil(PROBE_SHARE * chains)))


def spread(count: int, wanted: int) -> list[int]:
    """Return so many indices, evenly spread over ``count``: data sets are often sorted."""
    return [index * count // wanted for index in range(wanted)]


def estimate_run(
    completions: pl.DataFrame, *, chains: int, tokens_per_s: float, seed: int = 0
) -> RunEstimate:
    """Return what a run of ``chains`` will cost.

    Args:
        completions: of the probe; columns chain_id, prompt_tokens, completion_tokens, asked_at,
            seconds.
        chains: of the whole run.
        tokens_per_s: tokens written with a full batch.
        seed: of the bootstrap's resamples.
    """
    by_chain = completions.group_by("chain_id", maintain_order=True).agg(
        requests=pl.len(),
        read=pl.col("prompt_tokens").fill_null(0).sum(),
        written=pl.col("completion_tokens").fill_null(0).sum(),
        seconds=(pl.col("asked_at") + pl.col("seconds")).max() - pl.col("asked_at").min(),
    )
    totals = _totals(by_chain, chains, seed)
    longest = float(by_chain["seconds"].to_numpy().max(initial=0.0))
    written = totals["written"]
    ends = (written.value, written.low, written.high)
    seconds = Amount(*(max(longest, end / tokens_per_s) for end in ends))
    return RunEstimate(
        probed=by_chain.height,
        requests=totals["requests"],
        tokens_read=totals["read"],
        tokens_written=written,
        tokens_per_s=tokens_per_s,
        seconds=seconds,
    )


def _totals(by_chain: pl.DataFrame, chains: int, seed: int) -> Mapping[str, Amount]:
    names = ["requests", "read", "written"]
    values = by_chain.select(names).to_numpy().astype(np.float64)
    count = len(values)
    drawn = np.random.default_rng(seed).integers(0, count, size=(RESAMPLES, count))
    low, high = np.percentile(values[drawn].mean(axis=1), [2.5, 97.5], axis=0)
    mean = values.mean(axis=0)
    return {
        name: Amount(*(float(chains * end) for end in (mean[i], low[i], high[i])))
        for i, name in enumerate(names)
    }


def render_estimate(estimate: RunEstimate, *, gpus: float) -> list[str]:
    """Return the lines that ``describe`` prints.

    Args:
        estimate: of the run.
        gpus: that its engines hold.
    """
    seconds = estimate.seconds
    lines = [
        f"Expected, from {estimate.probed} chains made as a probe (95 % interval):",
        f"  requests   {_count(estimate.requests)}",
        f"  tokens     {_count(estimate.tokens_written)} written,"
        f" {_count(estimate.tokens_read)} read",
        f"  speed      {estimate.tokens_per_s:,.0f} tokens written per second with a full batch",
        f"  time       {_clock(seconds.value)} ({_clock(seconds.low)} to {_clock(seconds.high)}),"
        " and the start of the engine",
    ]
    if gpus:
        hours = gpus * seconds.value / 3600
        lines.append(f"  GPU-hours  {hours:,.1f} on {gpus:g} GPUs")
    return lines


def _count(amount: Amount) -> str:
    return f"{amount.value:,.0f} ({amount.low:,.0f} to {amount.high:,.0f})"


def _clock(seconds: float) -> str:
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}"
