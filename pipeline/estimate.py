"""What a run will cost, from a few of its chains; pure.

Chains are alike in kind and very unlike in length, so sums over chains come with the interval of a
bootstrap over the probe's chains. A bootstrap can only draw what it saw; so the interval also has
room for one more chain that costs the least, and for one that costs the most, that a chain can.

Time lies between two bounds. It takes at least the tokens at the speed of a full batch, and at
least as long as the longest chain, whose requests wait for each other. As the batch stays full
until no chain waits (Graham, Bounds on multiprocessing timing anomalies, 1969, for list
scheduling), it takes at most the first plus the second.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

PROBE_SHARE = 0.01
LEAST_CHAINS = 4
RESAMPLES = 1000


class Costs(NamedTuple):
    """What one chain costs."""

    requests: float
    read: float
    """Tokens."""
    written: float
    """Tokens."""


LEAST = Costs(requests=1, read=0, written=0)


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
    least_s: float
    """Seconds from the first request to the last answer, at least."""
    most_s: float
    """The same, at most."""


def probe_size(chains: int) -> int:
    """Return how many chains a probe makes: 1 %, and at least a few."""
    return min(chains, max(LEAST_CHAINS, math.ceil(PROBE_SHARE * chains)))


def spread(count: int, wanted: int) -> list[int]:
    """Return so many indices, evenly spread over ``count``: data sets are often sorted."""
    return [index * count // wanted for index in range(wanted)]


def estimate_run(
    completions: pl.DataFrame, *, chains: int, most: Costs, tokens_per_s: float, seed: int = 0
) -> RunEstimate:
    """Return what a run of ``chains`` will cost.

    Args:
        completions: of the probe; columns chain_id, prompt_tokens, completion_tokens, asked_at,
            seconds.
        chains: of the whole run.
        most: what one chain can cost.
        tokens_per_s: tokens written with a full batch.
        seed: of the bootstrap's resamples.
    """
    by_chain = completions.group_by("chain_id", maintain_order=True).agg(
        requests=pl.len(),
        read=pl.col("prompt_tokens").fill_null(0).sum(),
        written=pl.col("completion_tokens").fill_null(0).sum(),
        seconds=(pl.col("asked_at") + pl.col("seconds")).max() - pl.col("asked_at").min(),
    )
    values = by_chain.select(Costs._fields).to_numpy().astype(np.float64)
    requests, read, written = _totals(values, chains, most, seed)
    longest = float(by_chain["seconds"].to_numpy().max(initial=0.0))
    return RunEstimate(
        probed=by_chain.height,
        requests=requests,
        tokens_read=read,
        tokens_written=written,
        tokens_per_s=tokens_per_s,
        least_s=max(longest, written.low / tokens_per_s),
        most_s=longest + written.high / tokens_per_s,
    )


def _totals(values: NDArray[np.float64], chains: int, most: Costs, seed: int) -> list[Amount]:
    count, mean = len(values), values.mean(axis=0)
    if count >= chains:
        return [Amount(chains * each, chains * each, chains * each) for each in mean]
    drawn = np.random.default_rng(seed).integers(0, count, size=(RESAMPLES, count))
    low, high = np.percentile(values[drawn].mean(axis=1), [2.5, 97.5], axis=0)
    low = np.minimum(low, (values.sum(axis=0) + LEAST) / (count + 1))
    high = np.maximum(high, (values.sum(axis=0) + most) / (count + 1))
    return [Amount(*(chains * ends)) for ends in np.stack([mean, low, high], axis=1)]


def render_estimate(estimate: RunEstimate, *, gpus: float) -> list[str]:
    """Return the lines that ``describe`` prints.

    Args:
        estimate: of the run.
        gpus: that its engines hold.
    """
    lines = [
        f"Expected, from {estimate.probed} chains made as a probe (95 % interval):",
        f"  requests   {_count(estimate.requests)}",
        f"  tokens     {_count(estimate.tokens_written)} written,"
        f" {_count(estimate.tokens_read)} read",
        f"  speed      {estimate.tokens_per_s:,.0f} tokens written per second with a full batch",
        f"  time       {_clock(estimate.least_s)} to {_clock(estimate.most_s)},"
        " and the start of the engine",
    ]
    if gpus:
        least, most = (gpus * seconds / 3600 for seconds in (estimate.least_s, estimate.most_s))
        lines.append(f"  GPU-hours  {least:,.1f} to {most:,.1f} on {gpus:g} GPUs")
    return lines


def _count(amount: Amount) -> str:
    return f"{amount.value:,.0f} ({amount.low:,.0f} to {amount.high:,.0f})"


def _clock(seconds: float) -> str:
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}"
