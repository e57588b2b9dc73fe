"""Judging stored programs without a model: ``judge FILES... --out OUT.jsonl``.

Records stream through one sandbox of this process: it starts in a moment, where a Ray cluster
would take longer than judging a few hundred programs. A record that cannot be judged gets its
line, too: no verdict, and why.

The verdicts on an output line use the vocabulary of published judges, in which a program that
crashes or does not load has an error; ``kind`` and ``load`` beside it tell these apart.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TextIO

from conf import SandboxConfig, UserError
from pipeline.datasets.fields import Record
from pipeline.datasets.reading import json_lines, parse_record, unreadable
from pipeline.display import show_value
from pipeline.jobs import build_job, record_execution
from pipeline.judge_input import Evaluates, Task, read_task
from sandbox.types import Job, ProgramResult

SUFFIXES = (".json", ".jsonl", ".jsonl.gz")
OUTPUT_WIDTH = 4_000
EMPTY_LINE: dict[str, Any] = {
    "id": None,
    "verdict": None,
    "per_test": [],
    "extraction": None,
    "truncated": False,
    "load": None,
    "isolation": None,
    "message": "",
}
"""Every field of an output line, as it is where nothing was judged."""


class JudgingSandbox(Evaluates, Protocol):
    """What the judge needs of a sandbox."""

    def run(self, job: Job) -> ProgramResult:
        """Return what a program did."""
        ...


def main(files: Sequence[Path], out: Path) -> int:
    """Judge the records of files and write one line each, in their order.

    Returns:
        0, or 1 when a record was broken.

    Raises:
        UserError: a file is missing or of an unknown suffix, or the output cannot be written.
    """
    from sandbox import Sandbox

    for path in files:
        _check_file(path)
    config = SandboxConfig()
    broken = 0
    with Sandbox(config) as sandbox, _open_output(out) as lines:
        for where, text in _texts(files):
            try:
                line = judge_record(parse_record(where, text), sandbox, config)
            except UserError as error:
                broken += 1
                line = _not_judged(None, str(error))
                print(f"holdtrue: {error}", file=sys.stderr)
            lines.write(json.dumps(line) + "\n")
            lines.flush()
    return 1 if broken else 0


def judge_record(record: Record, sandbox: JudgingSandbox, config: SandboxConfig) -> dict[str, Any]:
    """Return the output line of one record.

    Args:
        record: fields as in docs/data.md.
        sandbox: runs the program.
        config: the budgets, where the record sets none.

    Raises:
        UserError: a field is missing or wrong.
    """
    record_id = record.optional_text("id") or record.where
    if "dataset" in (record.fields.get("problem") or {}):
        return _not_judged(record_id, f"{record.where}: a run, not a program to judge")
    task = read_task(record, record_id, sandbox, config)
    if task.program is None:
        per_test = [_test_line("no_code", "no_code", None, "") for _ in task.tests]
        message = "the completion holds no program"
        return _line(task, "no_code", per_test, load="no_code", isolation="", message=message)
    job = build_job(
        record_id,
        program=task.program,
        preamble=task.preamble,
        entry_point=task.entry_point,
        called=task.entry_point,
        tests=task.tests,
        config=task.config,
    )
    execution = record_execution(sandbox.run(job), task.tests)
    per_test = [
        _test_line(o["verdict"], o["kind"], o["encoding"], o["message"])
        for o in execution["outcomes"]
    ]
    return _line(
        task,
        execution["verdict"],
        per_test,
        load=execution["load"],
        isolation=execution["isolation"],
        message=execution["load_message"],
    )


def _line(
    task: Task,
    verdict: str,
    per_test: list[dict[str, Any]],
    *,
    load: str,
    isolation: str,
    message: str,
) -> dict[str, Any]:
    return EMPTY_LINE | {
        "id": task.record_id,
        "verdict": _published(verdict),
        "per_test": per_test,
        "extraction": task.extraction,
        "truncated": task.truncated,
        "load": load,
        "isolation": isolation,
        "message": message,
    }


def _test_line(verdict: str, kind: str, encoding: str | None, message: str) -> dict[str, Any]:
    return {
        "verdict": _published(verdict),
        "kind": kind,
        "output": show_value(encoding, OUTPUT_WIDTH) if kind == "value" else None,
        "message": message,
    }


def _not_judged(record_id: str | None, message: str) -> dict[str, Any]:
    return EMPTY_LINE | {"id": record_id, "message": message}


def _published(verdict: str) -> str:
    return "error" if verdict == "crash" else verdict


def _check_file(path: Path) -> None:
    if not path.name.endswith(SUFFIXES):
        raise UserError(f"{path}: the suffix must be one of {', '.join(SUFFIXES)}")
    if not path.is_file():
        raise UserError(f"{path}: there is no such file")


def _open_output(out: Path) -> TextIO:
    try:
        return out.open("w", encoding="utf-8")
    except OSError as error:
        raise UserError(f"--out {out}: cannot be written: {error.strerror}") from error


def _texts(files: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    for path in files:
        if path.suffix == ".json":
            try:
                yield str(path), path.read_bytes()
            except OSError as error:
                raise unreadable(path, error) from error
        else:
            yield from json_lines(path)
