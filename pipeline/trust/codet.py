"""Stored samples in the layout of the CodeT release: gzipped JSON Lines, one problem a line.

Chen et al., CodeT, arXiv 2207.10397. Completions are cut, and asserts taken from them, by that
work's rules, so that figures can be compared: a program is the prompt and the completion up to the
first stop text; asserts are what stands between two ``assert``, names the entry point and compiles.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conf import UserError
from pipeline.datasets.fields import Record
from pipeline.datasets.humaneval import convert
from pipeline.datasets.reading import json_lines, parse_record
from pipeline.parsing import parse_module
from pipeline.trust.samples import (
    ProblemSamples,
    group_samples,
    normal_assert,
    normal_source,
)

STOPS = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")
ASSERTS_A_SAMPLE = 5
_SUFFIX = ".jsonl.gz"
_FIXED = _PROBLEMS, _POSTCONDITIONS = "humaneval_problems", "_postconditions"


@dataclass(frozen=True, slots=True)
class CodetChoice:
    """Which files of a folder are read."""

    folder: Path
    programs: str = "codegen16b"
    """Middle of the file name ``*_<programs>_programs.jsonl.gz``."""
    tests: str = "codegen16b"
    postconditions: str = "B"
    """Which set of postconditions serves as relations."""
    most_programs: int = 100
    """Programs a problem: the first so many samples."""


def read_codet(choice: CodetChoice) -> Iterator[ProblemSamples]:
    """Yield each problem with its samples, in the file's order.

    Raises:
        UserError: a file is missing, given twice or broken; the message names it.
    """
    programs = _by_task(choice.folder, f"_{choice.programs}_programs")
    tests = _by_task(choice.folder, f"_{choice.tests}_tests")
    relations: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for record in _records(choice.folder, _POSTCONDITIONS):
        if record.text("set") == choice.postconditions:
            number = int(record.number("n") or 0)
            relations[record.identity("task_id")].append((number, record.text("postcondition")))
    for record in _records(choice.folder, _PROBLEMS):
        problem = convert(record, "codet")
        task = problem["problem_id"]
        prompt, name = record.text("prompt"), problem["entry_point"]
        texts = list(_texts(programs[task], prompt))[: choice.most_programs]
        asserts = [list(find_asserts(text, name)) for text in tests[task].items("samples")]
        first = ((n, a) for n, found in enumerate(asserts) for a in found[:ASSERTS_A_SAMPLE])
        yield ProblemSamples(
            problem=problem,
            programs=group_samples(enumerate(texts), normal_source),
            asserts=group_samples(first, normal_assert),
            relations=group_samples(relations[task], normal_assert),
            calls=tuple(text for found in asserts for text in found),
        )


def describe_codet(choice: CodetChoice) -> dict[str, Any]:
    """Return what a matrix's manifest says of its samples."""
    endings = (f"_{choice.programs}_programs", f"_{choice.tests}_tests", *_FIXED)
    paths = [_path(choice.folder, ending) for ending in endings]
    return {
        "files": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths},
        "postconditions": choice.postconditions,
        "most_programs": choice.most_programs,
    }


def cut(text: str) -> str:
    """Return a completion up to the first stop text."""
    return text[: min((at for stop in STOPS if (at := text.find(stop)) >= 0), default=len(text))]


def find_asserts(completion: str, entry_point: str) -> Iterator[str]:
    """Yield the asserts of a completion that was begun with ``assert``."""
    for part in f"assert {completion}".split("assert "):
        if entry_point not in part:
            continue
        text = cut(f"assert {part}".strip()).strip()
        try:
            tree = parse_module(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if tree.body:
            yield text


def _texts(record: Record, prompt: str) -> Iterator[str]:
    if "natural" in record.fields:
        yield from map(str, record.items("natural"))  # complete programs
    else:
        yield from (prompt + cut(str(text)) for text in record.items("samples"))


def _by_task(folder: Path, ending: str) -> dict[str, Record]:
    return {record.identity("task_id"): record for record in _records(folder, ending)}


def _records(folder: Path, ending: str) -> Iterable[Record]:
    return (parse_record(where, line) for where, line in json_lines(_path(folder, ending)))


def _path(folder: Path, ending: str) -> Path:
    found = sorted(folder.glob(f"*{ending}{_SUFFIX}"))
    if len(found) != 1:
        there = ", ".join(path.name for path in found) or "none"
        raise UserError(f"{folder}: one file *{ending}{_SUFFIX} is needed, found {there}")
    return found[0]
