"""The judge's input: a JSON record, checked and made ready to run."""

import dataclasses
from dataclasses import dataclass
from typing import Protocol

from conf import SandboxConfig, UserError
from pipeline.datasets.fields import Record
from pipeline.datasets.headers import BadPrompt, Header, split_prompt
from pipeline.datasets.literals import NotLiteral, parse_arguments, parse_literal
from pipeline.extraction import extract
from pipeline.records import Test
from sandbox.encoding import encode


class Evaluates(Protocol):
    """What reading needs of a sandbox."""

    def evaluate(self, expression: str) -> str:
        """Return the canonical encoding of an expression's value, or raise ``ValueError``."""
        ...


@dataclass(frozen=True, slots=True)
class Task:
    """One record, ready to run."""

    record_id: str
    program: str | None
    """None: the completion holds no code."""
    extraction: str | None
    """How the program was found in the completion; None where the record has a program."""
    truncated: bool
    preamble: str
    entry_point: str
    tests: tuple[Test, ...]
    config: SandboxConfig


def read_task(record: Record, record_id: str, sandbox: Evaluates, config: SandboxConfig) -> Task:
    """Check a record's fields and make them ready to run.

    Raises:
        UserError: a field is missing or wrong.
    """
    problem = record.within("problem", record.fields.get("problem"))
    entry_point = problem.text("function_name")
    header = _header(problem, entry_point)
    completion, program = record.optional_text("completion"), record.optional_text("program")
    if (completion is None) == (program is None):
        raise record.error("a record has either 'completion' or 'program'")
    extraction, truncated = None, False
    if completion is not None:
        found = extract(completion, entry_point, header=header.preamble + header.signature)
        program, extraction, truncated = found.program, str(found.kind), found.truncated
    tests = tuple(
        _read_test(record.within(f"test {number}", item), number, problem, sandbox)
        for number, item in enumerate(record.items("tests"))
    )
    if not tests:
        raise record.error("the record has no tests")
    preambles = (record.optional_text("preamble") or "", header.preamble)
    return Task(
        record_id=record_id,
        program=program,
        extraction=extraction,
        truncated=truncated,
        preamble="\n".join(text for text in preambles if text.strip()),
        entry_point=entry_point,
        tests=tests,
        config=_limits(record, config),
    )


def _header(problem: Record, entry_point: str) -> Header:
    """Take the problem's text apart; without one, the signature alone has to do."""
    for field in ("problem", "function_signature"):
        text = problem.optional_text(field)
        if text:
            try:
                return split_prompt(text, entry_point)
            except BadPrompt as error:
                raise problem.error(f"field {field!r}: {error}") from error
    return Header(preamble="", signature="", docstring="")


def _read_test(test: Record, number: int, problem: Record, sandbox: Evaluates) -> Test:
    atol = test.number("atol") or problem.number("atol") or None
    args, expected = test.text("input"), test.text("expected")
    try:
        parse_arguments(args)
    except NotLiteral as error:
        raise test.error(f"field 'input' does not parse: {error}") from error
    return Test(
        test_id=str(number),
        args=args,
        check=None,
        expected=_expected(test, expected, sandbox),
        comparator="python" if atol is None else "approx",
        atol=atol,
        source="record",
    )


def _expected(test: Record, source: str, sandbox: Evaluates) -> str:
    if test.fields.get("expr") is True:
        try:
            return sandbox.evaluate(source)
        except ValueError as error:
            raise test.error(f"field 'expected': {error}") from error
    try:
        return encode(parse_literal(source))
    except NotLiteral as error:
        hint = "set expr: true to have it evaluated in the sandbox"
        raise test.error(f"field 'expected' is no Python literal: {error}; {hint}") from error


def _limits(record: Record, config: SandboxConfig) -> SandboxConfig:
    """Apply a record's ``limits``: ``cpu_seconds`` and ``wall_seconds`` of one test, memory."""
    if record.fields.get("limits") is None:
        return config
    limits = record.within("limits", record.fields["limits"])
    cpu_s = limits.number("cpu_seconds") or config.cpu_s
    wall_s = limits.number("wall_seconds") or config.cpu_s * config.wall_factor
    memory_mb = limits.number("memory_mb") or config.memory_mb
    cpu_s = min(cpu_s, wall_s)
    try:
        return dataclasses.replace(
            config,
            cpu_s=cpu_s,
            wall_factor=wall_s / cpu_s,
            program_cpu_s=max(config.program_cpu_s, cpu_s),
            memory_mb=int(memory_mb),
        )
    except (UserError, ZeroDivisionError) as error:
        raise limits.error(str(error)) from error
