"""Chains as the IdentityChain release records them: JSON Lines, one task a line, plain or gzip.

Fields of a line (release 0.1.0): ``task_id``, ``NL_0`` (signature, docstring), ``function_name``,
``function_signature``, ``PL_0``, ``PL_0_results``, and for each further step i ``NL_i``, ``PL_i``,
``PL_i_results``. A result is one text a test: ``Passed``, ``Time Out`` or ``TypeOfError: message``.
A step that the release skipped has the text ``NA`` in all three.
"""

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from conf import UserError

PASSED = "Passed"
TIME_OUT = "Time Out"
SKIPPED = "NA"
_RESULTS = re.compile(r"PL_([0-9]+)_results")


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """One step; ``results`` is null where the release skipped it."""

    nl: str
    """The description as recorded; at step 0 with the signature and the real name."""
    pl: str
    """The program's body; at step 0 with the real name."""
    results: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class RecordedChain:
    """One task's chain."""

    problem_id: str
    function_name: str
    function_signature: str
    steps: tuple[RecordedStep, ...]
    """Step 0 first; every step that ran has as many results as step 0."""


def read_recorded(path: Path) -> Iterator[RecordedChain]:
    """Yield the chains of a file in its order, a line at a time.

    Args:
        path: ``.jsonl`` or ``.jsonl.gz``.

    Raises:
        UserError: the file cannot be read, or a line is not such a chain; names the line.
    """
    lines_of: dict[str, int] = {}
    for number, text in _lines(path):
        chain = _Line(f"{path}, line {number}", _parse(f"{path}, line {number}", text)).chain()
        earlier = lines_of.setdefault(chain.problem_id, number)
        if earlier != number:
            raise UserError(
                f"{path}, line {number}: task {chain.problem_id!r} is in line {earlier}, too; "
                "remove one of them"
            )
        yield chain


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    if not path.name.endswith((".jsonl", ".jsonl.gz")):
        raise UserError(f"{path}: the suffix must be .jsonl or .jsonl.gz")
    number = 0
    try:
        with closing(_open(path)) as stream:
            for number, text in enumerate(stream, start=1):
                if text.strip():
                    yield number, text
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise UserError(f"{path}: cannot be read after line {number}: {reason or error}") from error


def _open(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return gzip.open(path)  # type: ignore[return-value]  # is an IO[bytes] in all but name
    return path.open("rb")


def _parse(where: str, text: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(text)
    except ValueError as error:
        raise UserError(f"{where}: not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise UserError(f"{where}: not a JSON object")
    return fields


@dataclass(frozen=True, slots=True)
class _Line:
    where: str
    fields: dict[str, Any]

    def chain(self) -> RecordedChain:
        steps = tuple(self._step(index) for index in range(self._length() + 1))
        first = steps[0].results
        if not first:
            raise UserError(f"{self.where}: field 'PL_0_results' holds no result")
        for index, step in enumerate(steps):
            if step.results is not None and len(step.results) != len(first):
                raise UserError(
                    f"{self.where}: field 'PL_{index}_results' has {len(step.results)} results, "
                    f"'PL_0_results' has {len(first)}"
                )
        return RecordedChain(
            problem_id=self._task_id(),
            function_name=self._text("function_name"),
            function_signature=self._text("function_signature"),
            steps=steps,
        )

    def _length(self) -> int:
        """Return the last step; one after a hole would be lost without notice."""
        found = sorted(int(name[1]) for name in map(_RESULTS.fullmatch, self.fields) if name)
        for expected, index in enumerate(found):
            if index != expected:
                raise UserError(
                    f"{self.where}: has 'PL_{index}_results', but no 'PL_{expected}_results'"
                )
        return max(found, default=0)

    def _step(self, index: int) -> RecordedStep:
        return RecordedStep(
            nl=self._text(f"NL_{index}"),
            pl=self._text(f"PL_{index}"),
            results=self._results(f"PL_{index}_results"),
        )

    def _task_id(self) -> str:
        """MBPP counts its tasks, HumanEval names them."""
        value = self.fields.get("task_id")
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return self._text("task_id")

    def _text(self, name: str) -> str:
        value = self.fields.get(name)
        if not isinstance(value, str):
            raise UserError(f"{self.where}: field {name!r} is missing or not a text")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise UserError(f"{self.where}: field {name!r} is no valid Unicode text") from error
        return value

    def _results(self, name: str) -> tuple[str, ...] | None:
        value = self.fields.get(name)
        if value == SKIPPED:
            return None
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise UserError(f"{self.where}: field {name!r} is missing or not a list of texts")
        return tuple(value)
