"""Data files: JSON Lines (also gzipped) and Parquet, in one of several known forms.

The form is told by a file's field names; each form is one converter.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from conf import UserError
from pipeline.datasets import evalplus, humaneval, identitychain, mbpp, own
from pipeline.datasets.fields import Record
from pipeline.datasets.reading import json_lines, parquet_rows, parse_record
from pipeline.records import Problem

Convert: TypeAlias = Callable[[Record, str], Problem]

SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet")


@dataclass(frozen=True, slots=True)
class Form:
    """A known layout of records."""

    name: str
    fields: frozenset[str]
    """Field names that together are found in no other form."""
    convert: Convert


FORMS = (
    Form("own", frozenset({"problem_id", "prompt", "entry_point", "tests"}), own.convert),
    Form(
        "identitychain",
        frozenset({"task_id", "problem", "function_name", "tests"}),
        identitychain.convert,
    ),
    Form("human-eval", frozenset({"task_id", "prompt", "entry_point", "test"}), humaneval.convert),
    Form(
        "evalplus",
        frozenset({"task_id", "prompt", "entry_point", "base_input", "plus_input"}),
        evalplus.convert,
    ),
    Form("mbpp-plus", frozenset({"task_id", "code", "test_list", "test"}), mbpp.convert_plus),
    Form("mbpp", frozenset({"task_id", "prompt", "code", "test_list"}), mbpp.convert),
)


def read_file(path: Path) -> list[Problem]:
    """Return the problems of a data file, in its order; its stem is the data set's name.

    Raises:
        UserError: the file is missing, unreadable, empty, of an unknown suffix or form, or a
            record is broken; the message names the line (of Parquet, the row).
    """
    if not path.is_file():
        raise UserError(f"dataset.path={path}: there is no such file")
    return convert_records(list(_records(path)), origin=str(path), dataset=dataset_name(path))


def convert_records(records: Sequence[Record], *, origin: str, dataset: str) -> list[Problem]:
    """Return the problems of records that are all of one form, told from the first.

    Raises:
        UserError: there are none, their form is unknown, or one is broken.
    """
    if not records:
        raise UserError(f"{origin}: the data set is empty")
    form = detect_form(records[0])
    return [form.convert(record, dataset) for record in records]


def dataset_name(path: Path) -> str:
    """Return a file's name without its suffixes."""
    suffix = next((s for s in SUFFIXES if path.name.endswith(s)), "")
    return path.name.removesuffix(suffix)


def detect_form(record: Record) -> Form:
    """Return the form whose fields a record has.

    Raises:
        UserError: none; the message names what is missing of the closest one.
    """
    given = set(record.fields)
    for form in FORMS:
        if form.fields <= given:
            return form
    closest = max(FORMS, key=lambda form: len(form.fields & given) / len(form.fields))
    missing = ", ".join(sorted(closest.fields - given))
    raise record.error(
        f"no known form of problem; of the closest, {closest.name!r}, these fields are missing: "
        f"{missing} (see docs/data.md)"
    )


def _records(path: Path) -> Iterator[Record]:
    if path.name.endswith((".jsonl", ".jsonl.gz")):
        return (parse_record(where, line) for where, line in json_lines(path))
    if path.name.endswith(".parquet"):
        return parquet_rows(path)
    raise UserError(f"dataset.path={path}: the suffix must be one of {', '.join(SUFFIXES)}")
