"""What a run cost, and what its early stops saved against full chains.

Theory of operation. A full chain makes one request at step 0 and two a step from then on. Only
``fixed_point``, ``cycle`` and ``decided`` save: a chain that ended in a failure would not have gone
on. The two kinds of saving are known to different degrees and are kept apart:

- A closed chain's missing requests repeat made ones, prompt and answer, so their tokens are
  copied, not guessed. A program of a later step is that of ``repeated_step``. A description depends
  on the program before it alone, so that of step j is the one made of the program that step j - 1
  equals; for the last made program that is the next description if the chain got to it before it
  closed, else the description at the cycle's start.
- What a ``decided`` chain would have gone on to say is unknown. Each missing request is taken to
  cost the mean of the chain's own requests of that role after step 0. That it would have gone
  on to the end is an assumption, so this saving is an upper estimate.
"""

from dataclasses import dataclass

import polars as pl

from analysis.tables import CLOSED, EARLY, RunTables
from analysis.unroll import CHAIN_FACTS, is_closed, repeated_step, steps_made

_AMOUNTS = ("prompt_tokens", "completion_tokens", "cpu_s")
_EXECUTE = "execute"


@dataclass(frozen=True, slots=True)
class Cost:
    """An amount of work."""

    requests: int
    """Requests to the engine, retries not counted."""
    prompt_tokens: float
    """Tokens read; those that a prefix cache spares included."""
    completion_tokens: float
    """Tokens written."""
    programs: int
    """Programs run on their problem's tests."""
    cpu_s: float
    """CPU seconds of those programs."""


@dataclass(frozen=True, slots=True)
class Spending:
    """What was spent, and what early stop saved."""

    spent: Cost
    saved: Cost
    """By closed chains; exact."""
    saved_estimate: Cost
    """By decided chains; requests and programs counted, tokens and seconds estimated."""


def measure_spending(tables: RunTables, length: int) -> Spending:
    """Return the cost of a run and what stopping early saved.

    Args:
        tables: the run.
        length: last step of a full chain.
    """
    work = _work(tables)
    missing = _missing(tables, length)
    copied = missing.filter(pl.col("stop_reason").is_in(CLOSED)).join(
        work,
        left_on=["chain_id", "role", "source"],
        right_on=["chain_id", "role", "step"],
        how="left",
    )
    means = (
        work.filter(pl.col("step") > 0).group_by("chain_id", "role").agg(pl.col(_AMOUNTS).mean())
    )
    guessed = missing.filter(pl.col("stop_reason") == "decided").join(
        means, ["chain_id", "role"], how="left"
    )
    totals = pl.collect_all([_total(frame) for frame in (work, copied, guessed)])
    spent, saved, estimate = (Cost(**total.row(0, named=True)) for total in totals)
    return Spending(spent=spent, saved=saved, saved_estimate=estimate)


def _work(tables: RunTables) -> pl.LazyFrame:
    """Return one row for each request made and each program run."""
    key = ("chain_id", "role", "step")
    asked = tables.completions.select(
        *key,
        pl.col("prompt_tokens", "completion_tokens").cast(pl.Float64),
        cpu_s=pl.lit(0.0),
    )
    nothing = {"prompt_tokens": pl.lit(0.0), "completion_tokens": pl.lit(0.0)}
    ran = (
        tables.steps.filter(pl.col("verdict").is_not_null())
        .with_columns(role=pl.lit(_EXECUTE), **nothing)
        .select(*key, *_AMOUNTS)
    )
    return pl.concat([asked, ran])


def _missing(tables: RunTables, length: int) -> pl.LazyFrame:
    """Return one row for each request and program that early stop left out.

    ``source`` is the made step whose work it would repeat; of closed chains only.
    """
    grid = pl.LazyFrame({"step": range(1, length + 1)}, schema={"step": pl.Int32})
    steps = (
        tables.chains.filter(pl.col("stop_reason").is_in(EARLY))
        .select(CHAIN_FACTS)
        .join(grid, how="cross")
    )
    step, last_described = pl.col("step"), pl.col("stop_step")
    described = repeated_step(step - 1) + 1
    descriptions = steps.filter(step > last_described).with_columns(
        role=pl.lit("summarize"),
        source=pl.when(described > last_described).then(pl.col("cycle_start")).otherwise(described),
    )
    made = pl.when(is_closed()).then(steps_made()).otherwise(pl.col("stop_step") + 1)
    programs = steps.filter(step >= made).with_columns(source=repeated_step(step))
    return pl.concat(
        [
            descriptions.select("chain_id", "stop_reason", "role", "source"),
            *(
                programs.select("chain_id", "stop_reason", pl.lit(role).alias("role"), "source")
                for role in ("generate", _EXECUTE)
            ),
        ]
    )


def _total(work: pl.LazyFrame) -> pl.LazyFrame:
    ran = pl.col("role") == _EXECUTE
    return work.select(
        requests=(~ran).sum(),
        **{amount: pl.col(amount).sum() for amount in _AMOUNTS},
        programs=ran.sum(),
    )
