"""The files of a run folder that go to a service, with or without texts."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.schemas import RUN_TABLES
from pipeline.tracking.figures import told_config
from pipeline.trust.schemas import TRUST_RUN_TABLES

WHOLE = ("metrics.json", "metrics.jsonl", "events.jsonl", "scores.txt")
ALSO_WITH_TEXTS = ("manifest.json", "run.log", "answers.json", "explanations.parquet")
_FREE_WORDS = ("message", "load_message", "error_message")


def pack(folder: Path, scratch: Path, *, texts: bool) -> Iterator[tuple[str, Path]]:
    """Yield the name and place of each file to send.

    Without texts, tables lose every column that a prompt, a completion, a program or a value that
    it made stands in, or that quotes one; the configuration loses its prompt texts.

    Args:
        folder: of the run.
        scratch: existing folder for what has to be written anew; it must stay until all is sent.
        texts: whether everything may leave the machine as it is.
    """
    for name in WHOLE + (ALSO_WITH_TEXTS if texts else ()):
        if (folder / name).is_file():
            yield name, folder / name
    if not texts:
        yield "manifest.json", _write_manifest(folder, scratch)
    for table in RUN_TABLES | TRUST_RUN_TABLES:
        for shard in sorted((folder / table).glob("*.parquet")):
            path = shard if texts else _write_shard(shard, scratch / table)
            yield f"{table}/{shard.name}", path


def plain_columns(schema: pa.Schema) -> list[str]:
    """Return the columns that hold ids, numbers and choices only."""
    return [
        field.name
        for field in schema
        if not pa.types.is_large_string(field.type) and field.name not in _FREE_WORDS
    ]


def _write_manifest(folder: Path, scratch: Path) -> Path:
    path = scratch / "manifest.json"
    path.write_text(json.dumps(told_manifest(json.loads((folder / path.name).read_text()))))
    return path


def told_manifest(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest without texts."""
    dataset = manifest["dataset"]
    told = {key: value for key, value in manifest.items() if key != "example"}
    told["config"] = told_config(manifest["config"], texts=False)
    # Why a problem is left out may quote its solution.
    told["dataset"] = dataset | {"left_out": sorted(dataset.get("left_out", ()))}
    return told


def _write_shard(shard: Path, target: Path) -> Path:
    target.mkdir(exist_ok=True)
    path = target / shard.name
    columns = plain_columns(pq.read_schema(shard))
    pq.write_table(pq.read_table(shard, columns=columns), path, compression="zstd")
    return path
