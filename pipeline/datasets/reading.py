"""Records of a file, one at a time: JSON, JSON Lines (also gzipped), Parquet."""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from conf import UserError
from pipeline.datasets.fields import Record


def json_lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the lines of a ``.jsonl`` or ``.jsonl.gz`` file that are not blank, with their place.

    Raises:
        UserError: the file cannot be read.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield f"{path}, line {number}", line
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, error) from error


def parse_record(where: str, text: bytes) -> Record:
    """Return the record that a JSON text holds.

    Raises:
        UserError: the text is no JSON object; the message names the place.
    """
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: not valid JSON: {error}") from error
    if not isinstance(fields, dict):
        raise UserError(f"{where}: a record is a JSON object, got {_json_type(fields)}")
    return Record(fields, where)


def parquet_rows(path: Path) -> Iterator[Record]:
    """Yield the rows of a Parquet file.

    Raises:
        UserError: the file cannot be read.
    """
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, error) from error
    for number, fields in enumerate(table.to_pylist(), 1):
        yield Record(fields, f"{path}, row {number}")


def unreadable(path: Path, error: Exception) -> UserError:
    """Return the error of a file that is there but cannot be read."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return UserError(f"{path}: cannot be read: {reason}")


def _json_type(value: Any) -> str:
    return "null" if value is None else type(value).__name__
