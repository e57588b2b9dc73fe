"""Where chains broke: the first transition that lost the behaviour, and the test that shows it.

What counts as broken is what makes SC false (``analysis/unroll.py``), so the listing and the
scores cannot disagree.
"""

import polars as pl

from analysis.tables import MODEL_FAILURES, RunTables
from analysis.unroll import CHAIN_FACTS, unroll

BROKEN = pl.Schema(
    {
        "chain_id": pl.String,
        "problem_id": pl.String,
        "sample": pl.Int32,
        "from_step": pl.Int32,
        "to_step": pl.Int32,
        "reason": pl.String,
        "differing": pl.Int32,
        "comparable": pl.Int32,
        "test_id": pl.String,
        "before_kind": pl.String,
        "before_encoding": pl.String,
        "before_message": pl.String,
        "after_kind": pl.String,
        "after_encoding": pl.String,
        "after_message": pl.String,
    }
)
OUTPUTS, INCOMPARABLE, CLOSING = "outputs", "incomparable", "closing"
REASONS = (OUTPUTS, INCOMPARABLE, CLOSING, *MODEL_FAILURES)


def broken_chains(tables: RunTables, length: int) -> pl.DataFrame:
    """Return one row for each chain that broke within ``length`` steps, of schema ``BROKEN``.

    ``reason`` is one of

    - ``outputs``: ``differing`` of ``comparable`` tests came out differently; the first of them in
      the problem's order is ``test_id``, with what it came to before and after.
    - ``closing``: only the way from a cycle's last step back to its first differs, of which a run
      keeps the counts and not the tests.
    - ``incomparable``: no test could be compared, so nothing shows that the behaviour was kept.
    - ``unparsable``, ``truncated``: the model gave no program at ``to_step``.

    ``from_step`` is null where no program came before.

    Args:
        tables: the run.
        length: last step, as the run was asked for.
    """
    first = _first_breaks(tables, length)
    test = _first_tests(tables)
    joined = first.join(test, ["chain_id", "to_step"], how="left").with_columns(
        _only_of_outputs(name) for name in BROKEN.names()[8:]
    )
    return joined.select(BROKEN.names()).cast(BROKEN).sort("problem_id", "sample").collect()


def _first_breaks(tables: RunTables, length: int) -> pl.LazyFrame:
    before = pl.col("source").shift(1).over("chain_id", order_by="step")
    counts = tables.steps.select("chain_id", "comparable", "matching", to_step=pl.col("step"))
    lost = pl.col("stop_reason").is_in(MODEL_FAILURES) & (pl.col("step") >= pl.col("stop_step"))
    closes = pl.col("to_step") < pl.col("step")
    comparable = pl.when(closes).then("closing_comparable").otherwise("comparable")
    matching = pl.when(closes).then("closing_matching").otherwise("matching")
    return (
        unroll(tables, length)
        .with_columns(before=before)
        .filter(~pl.col("match"))
        .filter(pl.col("step") == pl.col("step").min().over("chain_id"))
        .join(tables.chains.select("chain_id", *CHAIN_FACTS[3:]), "chain_id")
        .with_columns(
            to_step=pl.when(lost).then("stop_step").otherwise("source"),
            from_step=pl.when(lost & (pl.col("stop_step") == 0)).then(None).otherwise("before"),
        )
        .join(counts, ["chain_id", "to_step"], how="left")
        .with_columns(
            comparable=pl.when(~lost).then(comparable),
            differing=pl.when(~lost).then(comparable - matching),
            reason=pl.when(lost)
            .then("stop_reason")
            .when(comparable == 0)
            .then(pl.lit(INCOMPARABLE))
            .when(closes)
            .then(pl.lit(CLOSING))
            .otherwise(pl.lit(OUTPUTS)),
        )
    )


def _first_tests(tables: RunTables) -> pl.LazyFrame:
    """Return the first differing test of each step, with both outcomes."""
    rows = tables.outcomes.with_row_index("order")
    after = rows.filter(~pl.col("matches_previous")).filter(
        pl.col("order") == pl.col("order").min().over("chain_id", "step")
    )
    parts = ("kind", "encoding", "message")
    before = rows.select(
        "chain_id", "test_id", pl.col("step") + 1, *(pl.col(p).alias(f"before_{p}") for p in parts)
    )
    return after.join(before, ["chain_id", "step", "test_id"], how="left").select(
        "chain_id",
        "test_id",
        pl.col("step").alias("to_step"),
        *(f"before_{p}" for p in parts),
        *(pl.col(p).alias(f"after_{p}") for p in parts),
    )


def _only_of_outputs(name: str) -> pl.Expr:
    return pl.when(pl.col("reason") == OUTPUTS).then(name).alias(name)
