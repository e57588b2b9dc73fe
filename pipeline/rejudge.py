"""A recorded IdentityChain file's programs, run again in our sandbox.

The file (fields as in ``analysis/recorded.py``, and ``contract``, ``tests``, ``atol``) holds texts,
of which the release makes programs: at step 0 the problem, its contract and the body; from step 1
on the signature and the body under the mask, where the release masks every occurrence of the name,
inside of words too. What comes of a test is then judged as the release does: a value passes if
``==`` says so or, where the problem has a tolerance, if ``abs`` of the difference is within it,
which is an error of its own for values without a difference.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from analysis.recorded import RecordedChain, read_recorded
from analysis.reference import MASK
from analysis.retold import tell_results
from pipeline.datasets.fields import Record
from pipeline.datasets.literals import NotLiteral, parse_literal
from pipeline.datasets.reading import json_lines, parse_record
from pipeline.display import plain_text
from sandbox import Call, Job, Kind, Limits, Outcome, ProgramResult, equal
from sandbox.encoding import Undecodable, decode, encode, encode_exception

RELEASE_TEST_S = 0.5
"""Seconds that the release gives a test: of wall time there, of CPU time here."""

_SLEEPS = 5
"""A sleeping test may take this many times its CPU seconds."""


class Judging(Protocol):
    """What this needs of a sandbox."""

    def run(self, job: Job) -> ProgramResult:
        """Return what a program did."""
        ...

    def evaluate(self, expression: str) -> str:
        """Return the canonical encoding of an expression's value, or raise ``ValueError``."""
        ...


@dataclass(frozen=True, slots=True)
class PairTest:
    """One test of a recorded problem."""

    args: str
    expected: str
    """Canonical encoding."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What a line says beside the chain."""

    contract: str
    tests: tuple[PairTest, ...]
    atol: float


def rejudge(
    path: Path, sandbox: Judging, *, test_s: float = RELEASE_TEST_S
) -> Iterator[tuple[RecordedChain, RecordedChain]]:
    """Yield each chain of a file as recorded and as our judge sees it, in the file's order.

    Args:
        path: IdentityChain JSON Lines, plain or gzip, recorded with masking.
        sandbox: runs the programs.
        test_s: CPU seconds of a test.

    Raises:
        UserError: the file is not such a record, or its tests are no inputs with outputs.
    """
    lines = (parse_record(where, text) for where, text in json_lines(path))
    for chain, record in zip(read_recorded(path), lines, strict=True):
        problem = read_problem(record, sandbox)
        if len(problem.tests) != len(chain.steps[0].results or ()):
            raise record.error("field 'tests' and field 'PL_0_results' are not of one length")
        steps = tuple(
            step
            if step.results is None
            else dataclasses.replace(step, results=_judge(chain, n, problem, sandbox, test_s))
            for n, step in enumerate(chain.steps)
        )
        yield chain, dataclasses.replace(chain, steps=steps)


def read_problem(record: Record, sandbox: Judging) -> Problem:
    """Return the contract and the tests of a line.

    Raises:
        UserError: a field is missing or wrong.
    """
    return Problem(
        contract=record.optional_text("contract") or "",
        tests=tuple(
            _read_test(record, number, item, sandbox)
            for number, item in enumerate(record.items("tests"))
        ),
        atol=record.number("atol") or 0.0,
    )


def assemble(chain: RecordedChain, step: int, contract: str) -> str:
    """Return the program of a step as the release runs it."""
    made = chain.steps[step]
    header = made.nl
    if step:
        header = chain.function_signature.replace(chain.function_name, MASK) + made.nl
    return f"\n{header}{contract}\n{made.pl}\n\n\n"


def _read_test(record: Record, number: int, item: Any, sandbox: Judging) -> PairTest:
    if isinstance(item, str):
        raise record.error(
            "its tests are assertion texts; only tests of an input and an output can be run again"
        )
    pair = record.within(f"test {number}", item)
    source = pair.text("output")
    try:
        expected = encode(parse_literal(source))
    except NotLiteral:
        try:
            expected = sandbox.evaluate(source)
        except ValueError as error:
            raise pair.error(f"field 'output': {error}") from error
    return PairTest(pair.text("input"), expected)


def _judge(
    chain: RecordedChain, step: int, problem: Problem, sandbox: Judging, test_s: float
) -> tuple[str, ...]:
    calls = tuple(Call(str(n), args=test.args) for n, test in enumerate(problem.tests))
    limits = Limits(cpu_s=test_s, wall_s=test_s * _SLEEPS, program_cpu_s=test_s * (len(calls) + 1))
    job = Job(
        job_id=f"{chain.problem_id}/{step}",
        program=assemble(chain, step, problem.contract),
        entry_point=MASK if step else chain.function_name,
        calls=calls,
        limits=limits,
    )
    result = sandbox.run(job)
    outcomes = [
        release_verdict(outcome, test.expected, problem.atol)
        for outcome, test in zip(result.outcomes, problem.tests, strict=True)
    ]
    return tell_results(str(result.load), result.message, outcomes, plain_text)


def release_verdict(outcome: Outcome, expected: str, atol: float) -> Mapping[str, Any]:
    """Judge one outcome by the release's equality.

    Args:
        outcome: what came of the test.
        expected: canonical encoding of the right value.
        atol: tolerance; 0 for ``==``.

    Returns:
        ``verdict``, ``encoding``, ``message``, as ``tell_results`` takes them.
    """
    verdict, encoding, message = str(outcome.kind), outcome.encoding, outcome.message
    if outcome.kind is Kind.VALUE and encoding is not None:
        try:
            right = _is_right(encoding, expected, atol)
            verdict = "pass" if right else "fail"
        except (TypeError, ValueError, ArithmeticError) as error:
            verdict, encoding = "error", encode_exception(error)
    return {"verdict": verdict, "encoding": encoding, "message": message}


def _is_right(given: str, expected: str, atol: float) -> bool:
    if not atol:
        return equal(given, expected, "python")
    try:
        value, right = decode(given), decode(expected)
    except Undecodable:
        return False
    return bool(abs(value - right) <= atol)
