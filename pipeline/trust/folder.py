"""The run folder of a trust run, and its shards."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from conf import RunConfig
from pipeline.round import is_suspended
from pipeline.runfolder import RunFolder
from pipeline.trust.roles import TRUST_ROLES, trust_sampling
from pipeline.trust.schemas import COMPLETIONS, PROBLEMS, TRUST_RUN_TABLES, TRUST_TABLES

FLUSH_S = 5.0


class TrustFolder(RunFolder):
    """Like a chain run's, with the tables of a trust run."""

    tables = TRUST_RUN_TABLES
    commit = "problems"
    key = "problem_id"


@dataclass
class TrustWriter:
    """Collects checked problems and publishes them a few seconds at a time."""

    folder: TrustFolder
    config: RunConfig
    model: str
    """Identity of the model that answered."""
    _waiting: list[pa.Table] = field(default_factory=list)
    _published_at: float = float("-inf")

    def add(self, rows: pa.Table) -> None:
        """Take checked problems, schema TRUST_ROW; publish when the last shard is old enough."""
        if rows.num_rows:
            self._waiting.append(rows)
        if time.monotonic() - self._published_at >= FLUSH_S:
            self.flush()

    def flush(self) -> None:
        """Publish what is waiting."""
        if self._waiting:
            rows = pa.concat_tables(self._waiting)
            self.folder.write_shard(to_run_tables(rows, self.config, self.model))
            self._waiting = []
        self._published_at = time.monotonic()


def costs(rows: pa.Table) -> dict[str, int | None]:
    """Return the tokens, read and written, of each problem; null if it was suspended."""
    names = ["problem_id", "stop", *(f"{role}_answers" for role in TRUST_ROLES)]
    return {
        row["problem_id"]: None
        if is_suspended(row)
        else sum(
            (answer["prompt_tokens"] or 0) + (answer["completion_tokens"] or 0)
            for role in TRUST_ROLES
            for answer in row[f"{role}_answers"] or []
        )
        for row in rows.select(names).to_pylist()
    }


def without_suspended(rows: pa.Table) -> pa.Table:
    """Return the rows that have ended; a suspended one is made when the run goes on."""
    return rows.filter(
        pa.array([not is_suspended(row) for row in rows.select(["stop"]).to_pylist()])
    )


def to_run_tables(rows: pa.Table, config: RunConfig, model: str) -> Mapping[str, pa.Table]:
    """Return one table for each of TRUST_RUN_TABLES.

    Args:
        rows: schema TRUST_ROW, checked or stopped.
        config: the run they belong to.
        model: identity of the model that answered.
    """
    tables = {name: _flattened(rows[name], schema) for name, schema in TRUST_TABLES.items()}
    few = rows.drop_columns([*TRUST_TABLES, "samples", "tests"]).to_pylist()
    tables["completions"] = pa.Table.from_pylist(
        [answer for row in few for answer in _completions(row, config, model)], COMPLETIONS
    )
    tables["problems"] = pa.Table.from_pylist(list(map(_problem, few)), PROBLEMS)
    return tables


def _flattened(column: pa.ChunkedArray, schema: pa.Schema) -> pa.Table:
    rows = pc.list_flatten(column).combine_chunks()
    return pa.Table.from_batches([pa.RecordBatch.from_struct_array(rows)]).cast(schema)


def _completions(row: dict[str, Any], config: RunConfig, model: str) -> list[dict[str, Any]]:
    return [
        {
            "problem_id": row["problem_id"],
            "sample": sample,
            "role": role,
            "model": model,
            "sampling": trust_sampling(config, role).to_json(),
            **answer,
        }
        for role in TRUST_ROLES
        for sample, answer in enumerate(row[f"{role}_answers"] or [])
    ]


def _problem(row: dict[str, Any]) -> dict[str, Any]:
    nothing = dict.fromkeys(("programs", "cells", "relation_checks", "relation_runs"), 0)
    stop = row["stop"] or {"reason": None, "message": None}
    return {
        "problem_id": row["problem_id"],
        "dataset": row["dataset"],
        **(row["cost"] or {**nothing, "cpu_s": 0.0}),
        "stop_reason": stop["reason"],
        "message": stop["message"],
    }
