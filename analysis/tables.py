"""The tables of a chain run as lazy polars frames, with their declared columns.

A shard counts only once it stands in ``chains/``, which is published last; what a killed run left
in the other folders beyond that is not read.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from conf import UserError

CLOSED = ("fixed_point", "cycle")
EARLY = (*CLOSED, "decided")
MODEL_FAILURES = ("unparsable", "truncated")
OUTSIDE_FAILURES = ("prompt_too_long", "engine_error", "harness", "not_recorded")
STOP_REASONS = ("length", *EARLY, *MODEL_FAILURES, *OUTSIDE_FAILURES)

_STEP_KEY = {
    "chain_id": pl.String,
    "problem_id": pl.String,
    "sample": pl.Int32,
    "step": pl.Int32,
}

CHAINS = pl.Schema(
    {
        "chain_id": pl.String,
        "problem_id": pl.String,
        "dataset": pl.String,
        "sample": pl.Int32,
        "length": pl.Int32,
        "steps": pl.Int32,
        "stop_reason": pl.String,
        "stop_step": pl.Int32,
        "cycle_start": pl.Int32,
        "cycle_length": pl.Int32,
        "closing_comparable": pl.Int32,
        "closing_matching": pl.Int32,
        "message": pl.String,
    }
)

STEPS = pl.Schema(
    {
        **_STEP_KEY,
        "nl": pl.String,
        "pl": pl.String,
        "summary_request": pl.String,
        "generation_request": pl.String,
        "extraction": pl.String,
        "load": pl.String,
        "load_message": pl.String,
        "verdict": pl.String,
        "cpu_s": pl.Float64,
        "isolation": pl.String,
        "tests": pl.Int32,
        "comparable": pl.Int32,
        "matching": pl.Int32,
    }
)

OUTCOMES = pl.Schema(
    {
        **_STEP_KEY,
        "test_id": pl.String,
        "kind": pl.String,
        "encoding": pl.String,
        "message": pl.String,
        "cpu_s": pl.Float64,
        "verdict": pl.String,
        "matches_previous": pl.Boolean,
    }
)

_ANSWER = {
    "request_id": pl.String,
    "prompt_key": pl.String,
    "prompt": pl.String,
    "text": pl.String,
    "prompt_tokens": pl.Int32,
    "completion_tokens": pl.Int32,
    "finish_reason": pl.String,
    "logprob": pl.Float64,
    "attempts": pl.Int32,
    "asked_at": pl.Float64,
    "seconds": pl.Float64,
    "error_kind": pl.String,
    "error_message": pl.String,
}

COMPLETIONS = pl.Schema(
    {
        **_STEP_KEY,
        "role": pl.String,
        "model": pl.String,
        "sampling": pl.String,
        **_ANSWER,
    }
)

RESAMPLES = pl.Schema(
    {
        **_STEP_KEY,
        "from_step": pl.Int32,
        "index": pl.Int32,
        "finding": pl.String,
        "pl": pl.String,
        "extraction": pl.String,
        "load": pl.String,
        "load_message": pl.String,
        "verdict": pl.String,
        "cpu_s": pl.Float64,
        "comparable": pl.Int32,
        "matching": pl.Int32,
        "model": pl.String,
        "sampling": pl.String,
        **_ANSWER,
    }
)

COMMIT_TABLE = "chains"
RUN_TABLES = {
    "chains": CHAINS,
    "steps": STEPS,
    "outcomes": OUTCOMES,
    "completions": COMPLETIONS,
}
EXTRA_TABLES = {"resamples": RESAMPLES}
"""Tables that a run may lack."""


@dataclass(frozen=True, slots=True)
class RunTables:
    """The tables of a chain run; columns as in the schemas of this module."""

    chains: pl.LazyFrame
    steps: pl.LazyFrame
    outcomes: pl.LazyFrame
    completions: pl.LazyFrame
    resamples: pl.LazyFrame = field(default_factory=lambda: pl.LazyFrame(schema=RESAMPLES))


def read_run(path: Path) -> RunTables:
    """Scan the published shards of a run folder; a run without any gives empty tables.

    Args:
        path: the run folder.

    Raises:
        UserError: there is no run, a shard is missing or unreadable, or its columns are not ours.
    """
    if not (path / COMMIT_TABLE).is_dir():
        raise UserError(
            f"{path}: no run there (no {COMMIT_TABLE}/ folder); give the folder of a chain run"
        )
    names = sorted(shard.name for shard in (path / COMMIT_TABLE).glob("*.parquet"))
    extra = [table for table in EXTRA_TABLES if (path / table).is_dir()]
    return RunTables(**{table: _scan(path / table, names) for table in (*RUN_TABLES, *extra)})


def check_complete(tables: RunTables) -> None:
    """Make sure that the tables tell one story: no chain twice, no step or outcome missing.

    Scores are made from the counts that stand in ``chains`` and ``steps``; this recounts them
    from the rows they were made of.

    Raises:
        UserError: the tables contradict each other; names the first chain.
    """
    recount = (
        tables.outcomes.group_by("chain_id", "step")
        .agg(
            found_tests=pl.len(),
            found_comparable=pl.col("matches_previous").count(),
            found_matching=pl.col("matches_previous").sum(),
        )
        .join(
            tables.steps.select("chain_id", "step", "verdict", *_COUNTS),
            ["chain_id", "step"],
            how="full",
            coalesce=True,
        )
        .group_by("chain_id")
        .agg(
            ran=pl.col("verdict").count(),
            same=pl.all_horizontal(
                pl.col(count).fill_null(0) == pl.col(f"found_{count}").fill_null(0)
                for count in _COUNTS
            ).all(),
        )
    )
    wrong = (
        tables.chains.group_by("chain_id")
        .agg(rows=pl.len(), steps=pl.col("steps").first())
        .join(recount, "chain_id", how="full", coalesce=True)
        .filter(
            (pl.col("rows").fill_null(0) != 1)
            | (pl.col("steps") != pl.col("ran").fill_null(0))
            | ~pl.col("same").fill_null(True)
        )
        .select(pl.col("chain_id").sort())
        .collect()["chain_id"]
    )
    if len(wrong):
        raise UserError(
            f"the run's tables contradict each other in {len(wrong)} chains, first "
            f"{wrong[0]!r}: a shard was lost or changed; restore it or run again"
        )


_COUNTS = ("tests", "comparable", "matching")


def _scan(folder: Path, names: Sequence[str]) -> pl.LazyFrame:
    schema = (RUN_TABLES | EXTRA_TABLES)[folder.name]
    if not names:
        return pl.LazyFrame(schema=schema)
    shards = [folder / name for name in names]
    for shard in shards:
        _check_shard(shard, schema)
    return pl.scan_parquet(shards, schema=schema, extra_columns="ignore")


def _check_shard(shard: Path, schema: pl.Schema) -> None:
    if not shard.is_file():
        raise UserError(f"{shard}: this shard is missing; restore it or run again")
    try:
        found = pl.read_parquet_schema(shard)
    except pl.exceptions.ComputeError as error:
        raise UserError(f"{shard}: not a readable Parquet file ({error})") from error
    wrong = [name for name, kind in schema.items() if found.get(name) != kind]
    if wrong:
        raise UserError(
            f"{shard}: column {wrong[0]!r} is missing or of another type; "
            f"was it written by another version of Holdtrue?"
        )
