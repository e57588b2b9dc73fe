"""Every chain as if it had been run to full length: one row a chain and step.

Theory of operation. A chain stops early for reasons that settle its later steps to different
degrees, and each reason is unrolled to exactly what it proves:

- A closed chain (``fixed_point``, ``cycle``) made steps 0 .. start + length - 1 and repeats from
  ``start`` for ever, so a later step *is* the made step ``repeated_step`` says. A transition into
  such a step was measured when that step was made, but for two: in a cycle of one step, program
  and successor are one text, which matches itself on every test; and the way from a longer cycle's
  last step back to its first, which the run compares and stores (``closing_*``) when it stops.
- ``decided``: after a mismatch nothing was made. SC is false from there on, whatever would have
  come. SSC is false if a program had failed by then, else unknown; TOM and P/FM are unknown.
- ``unparsable``, ``truncated``: the model gave no program at that step. The chain is neither
  consistent nor right from there on; TOM and P/FM compare two programs and stay undefined.
- ``prompt_too_long``, ``engine_error``, ``harness``, ``not_recorded``: not the model's doing. From
  that step on the chain is in no numerator and no denominator, also where a score was already
  settled: keeping the settled failures alone would pull every score down.
"""

import polars as pl

from analysis.tables import CLOSED, MODEL_FAILURES, OUTSIDE_FAILURES, RunTables

CHAIN_FACTS = (
    *("chain_id", "problem_id", "sample", "stop_reason", "stop_step"),
    *("cycle_start", "cycle_length", "closing_comparable", "closing_matching"),
)
UNROLLED = pl.Schema(
    {
        "chain_id": pl.String,
        "problem_id": pl.String,
        "sample": pl.Int32,
        "step": pl.Int32,
        "source": pl.Int32,
        "known": pl.Boolean,
        "passed": pl.Boolean,
        "tom": pl.Float64,
        "match": pl.Boolean,
        "pfm": pl.Boolean,
        "sc": pl.Boolean,
        "ssc": pl.Boolean,
    }
)


def is_closed() -> pl.Expr:
    """Tell whether a chain repeats for ever; reads ``stop_reason``."""
    return pl.col("stop_reason").is_in(CLOSED)


def steps_made() -> pl.Expr:
    """Return how many steps a closed chain made before it repeats."""
    return pl.col("cycle_start") + pl.col("cycle_length")


def repeated_step(step: pl.Expr) -> pl.Expr:
    """Return the made step that ``step`` equals: itself, or of a closed chain's later steps
    ``start + (step - start) mod length``.
    """
    start = pl.col("cycle_start")
    inside = start + (step - start) % pl.col("cycle_length")
    return pl.when(is_closed() & (step >= steps_made())).then(inside).otherwise(step)


def unroll(tables: RunTables, length: int) -> pl.LazyFrame:
    """Return one row for each chain and step 0 .. ``length``, of schema ``UNROLLED``.

    Columns beside the key, null where unknown or undefined:

    - ``source``: the made step that this step equals.
    - ``known``: false where the chain counts in no score, at and after a stop that was not the
      model's doing, and past the end of a chain that was run to its full length.
    - ``passed``: the program passed all tests.
    - ``tom``: Test Output Match of this step with the one before, the share of comparable tests
      with equal outputs (IdentityChain, arXiv 2310.14053, section 4.3).
    - ``match``: this transition keeps the behaviour, TOM = 1; a program none of whose tests can
      be compared has not shown that, so it does not match.
    - ``pfm``: this program and the one before both pass or both fail (P/FM, section 4.3).
    - ``sc``: self-consistent up to here: every transition 1 .. step matches (SC_n, Figure 1).
    - ``ssc``: strongly so: every program 0 .. step passes (SSC_n, as the paper's tables count it).

    Args:
        tables: the run.
        length: last step; may lie beyond the run's own, where only closed chains are known.
    """
    grid = pl.LazyFrame({"step": range(length + 1)}, schema={"step": pl.Int32})
    made = tables.steps.select(
        "chain_id", "verdict", "comparable", "matching", source=pl.col("step")
    )
    return (
        tables.chains.select(CHAIN_FACTS)
        .join(grid, how="cross")
        .with_columns(source=repeated_step(pl.col("step")))
        .join(made, ["chain_id", "source"], how="left")
        .with_columns(_reach())
        .with_columns(passed=_passed(), tom=_tom(), match=_match())
        .with_columns(pfm=_pass_fail_match(), sc=_all_so_far("match", first=1))
        .with_columns(ssc=_all_so_far("passed", first=0))
        .select(UNROLLED.names())
        .sort("problem_id", "sample", "step")
    )


def _reach() -> list[pl.Expr]:
    """What a row's place after the chain's stop means for it."""
    reason, step, stop = pl.col("stop_reason"), pl.col("step"), pl.col("stop_step")
    outside = reason.is_in(OUTSIDE_FAILURES) & (step >= stop)
    beyond = (reason == "length") & (step > stop)
    return [
        (~outside & ~beyond).alias("known"),
        (reason.is_in(MODEL_FAILURES) & (step >= stop)).alias("lost"),
        (is_closed() & (step >= steps_made())).alias("repeats"),
    ]


def _passed() -> pl.Expr:
    return (
        pl.when(~pl.col("known"))
        .then(None)
        .when(pl.col("lost"))
        .then(False)
        .otherwise(pl.col("verdict") == "pass")
    )


def _tom() -> pl.Expr:
    return (
        pl.when(~pl.col("known") | pl.col("lost") | (pl.col("step") == 0))
        .then(None)
        .when(_is_fixed())
        .then(1.0)
        .when(_is_closing())
        .then(_share(pl.col("closing_matching"), pl.col("closing_comparable")))
        .otherwise(_share(pl.col("matching"), pl.col("comparable")))
    )


def _match() -> pl.Expr:
    return (
        pl.when(~pl.col("known") | (pl.col("step") == 0))
        .then(None)
        .when(pl.col("lost"))
        .then(False)
        .when(_is_fixed())
        .then(True)
        .when(_is_closing())
        .then(_all_match(pl.col("closing_matching"), pl.col("closing_comparable")))
        .otherwise(_all_match(pl.col("matching"), pl.col("comparable")))
    )


def _pass_fail_match() -> pl.Expr:
    before = pl.col("passed").shift(1).over("chain_id", order_by="step")
    return pl.when(~pl.col("lost")).then(pl.col("passed") == before)


def _all_so_far(column: str, *, first: int) -> pl.Expr:
    """Return the conjunction of a column over steps ``first`` .. step, with nulls as unknown.

    Kleene's "and" is the minimum in the order false < unknown < true.
    """
    order = (
        pl.when(pl.col("step") < first)
        .then(2)
        .otherwise((pl.col(column).cast(pl.Int8) * 2).fill_null(1))
        .cum_min()
        .over("chain_id", order_by="step")
    )
    told = pl.col("known") & (pl.col("step") >= first) & (order != 1)
    return pl.when(told).then(order == 2)


def _is_fixed() -> pl.Expr:
    return pl.col("repeats") & (pl.col("cycle_length") == 1)


def _is_closing() -> pl.Expr:
    return pl.col("repeats") & (pl.col("source") == pl.col("cycle_start"))


def _share(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    return pl.when(whole > 0).then(part / whole)


def _all_match(matching: pl.Expr, comparable: pl.Expr) -> pl.Expr:
    return (matching == comparable) & (comparable > 0)
