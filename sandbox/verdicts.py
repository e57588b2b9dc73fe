"""From what happened to what it means: verdicts of tests and programs, and matches of two runs."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from sandbox.compare import equal
from sandbox.encoding import loads
from sandbox.types import Kind, Load, Outcome


class Verdict(StrEnum):
    """The judgement on a test, or on a program."""

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    CRASH = "crash"
    OUTPUT = "output"
    UNENCODABLE = "unencodable"
    SKIPPED = "skipped"
    NO_CODE = "no_code"
    HARNESS = "harness"


WORST_FIRST = (
    # The judge's own fault hides what the program would have done, so nothing may outrank it.
    Verdict.HARNESS,
    # Then by how far the program was from returning a value at all.
    Verdict.NO_CODE,
    Verdict.CRASH,
    Verdict.MEMORY,
    Verdict.TIMEOUT,
    Verdict.OUTPUT,
    Verdict.ERROR,
    Verdict.UNENCODABLE,
    Verdict.FAIL,
    # A test is skipped only after others used up the budget, which is then the verdict.
    Verdict.SKIPPED,
    Verdict.PASS,
)
_OF_LOAD = {
    Load.NO_CODE: Verdict.NO_CODE,
    Load.SYNTAX: Verdict.ERROR,
    Load.ERROR: Verdict.ERROR,
    Load.TIMEOUT: Verdict.TIMEOUT,
    Load.MEMORY: Verdict.MEMORY,
    Load.CRASH: Verdict.CRASH,
    Load.HARNESS: Verdict.HARNESS,
}
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+\b")
_LINE = re.compile(r"\bline \d+\b")


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a test wants of a value; never sent into a sandbox.

    Without an encoding, as in a test that only records outputs, any value passes.
    """

    encoding: str | None
    comparator: str = "python"
    atol: float | None = None


def judge_outcome(outcome: Outcome, expectation: Expectation) -> Verdict:
    """Return the verdict of one test.

    A check (``held`` is set) passes if it ran to its end. Otherwise a value passes if it equals the
    expected one; anything but a value is a verdict of its own.
    """
    if outcome.kind is not Kind.VALUE:
        return Verdict(outcome.kind.value)
    if outcome.held is not None:
        return Verdict.PASS if outcome.held else Verdict.FAIL
    if expectation.encoding is None:
        return Verdict.PASS
    if outcome.encoding is None:
        raise ValueError(f"test {outcome.test_id!r}: a value without an encoding")
    right = equal(outcome.encoding, expectation.encoding, expectation.comparator, expectation.atol)
    return Verdict.PASS if right else Verdict.FAIL


def program_verdict(load: Load, verdicts: Iterable[Verdict]) -> Verdict:
    """Return a program's verdict: that of its loading, else the worst of its tests.

    ``harness`` is worst of all: such a program is judged again, and never scored.

    Raises:
        ValueError: a program that loaded has no tests.
    """
    if load is not Load.OK:
        return _OF_LOAD[load]
    return min(verdicts, key=WORST_FIRST.index)


def outcomes_match(
    before: Outcome,
    after: Outcome,
    comparator: str,
    atol: float | None,
    names: tuple[str, ...] = (),
) -> bool | None:
    """Tell whether two programs did the same on one test, or null if that cannot be known.

    Values match by the test's comparator. Errors match when class and message are equal but for
    addresses, line numbers and the function's own name. Other kinds match their like. Nothing is
    known where a side was not run (skipped) or not seen (harness), of two time-outs, which might
    have ended differently, and of two values that look alike but hold an opaque object.

    The paper (IdentityChain, arXiv 2310.14053, section 4.3: Test Output Match) compares outputs
    and error messages as text; its release leaves out a test when *either* side timed out. A
    time-out against an output is a difference here.

    Args:
        before: of the earlier program.
        after: of the later one.
        comparator: the test's; see ``sandbox.compare.equal``.
        atol: the test's absolute tolerance.
        names: what the function is called in either program.
    """
    kinds = {before.kind, after.kind}
    if kinds & {Kind.SKIPPED, Kind.HARNESS} or kinds == {Kind.TIMEOUT}:
        return None
    if before.kind is not after.kind:
        return False
    if before.kind is Kind.VALUE:
        return _values_match(before, after, comparator, atol)
    if before.kind is Kind.ERROR:
        return _normal_error(before, names) == _normal_error(after, names)
    return True


def _values_match(
    before: Outcome, after: Outcome, comparator: str, atol: float | None
) -> bool | None:
    if before.encoding is None or after.encoding is None:
        raise ValueError(f"test {before.test_id!r}: a value without an encoding")
    if equal(after.encoding, before.encoding, comparator, atol):
        return True
    return None if after.encoding == before.encoding else False


def _normal_error(outcome: Outcome, names: tuple[str, ...]) -> tuple[str, str]:
    if outcome.encoding is None:
        return outcome.message, ""
    kind, _, message = loads(outcome.encoding)
    return kind, normal_message(message, names)


def normal_message(message: str, names: tuple[str, ...]) -> str:
    """Return an error's text without what may differ between two programs that fail alike.

    Args:
        message: the text.
        names: what the function is called in either program; whole words become ``func``.
    """
    message = _LINE.sub("line", _ADDRESS.sub("0x", message))
    for name in names:
        message = re.sub(rf"\b{re.escape(name)}\b", "func", message)
    return message
