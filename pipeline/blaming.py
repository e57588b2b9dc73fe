"""Which half of a broken transition is to blame, the description or the program.

From step ``i - 1`` to ``i`` a program is described and a program is written from the description.
If the two programs behave differently, either the description lost the behaviour or the second
program failed to follow it. To tell, more programs are sampled from that same description, each
compared with the program that was described: if most of them behave like it, the description held
all that was needed and the program in the chain slipped; if most differ, the description lost it.

Where a chain broke is told from its row here and from a run's tables in ``analysis/broken.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pipeline.records import Execution, Generation, Step, Stop, StopReason
from pipeline.stopping import cut_off
from sandbox.verdicts import Verdict

_MODEL_FAILURES = (StopReason.UNPARSABLE, StopReason.TRUNCATED)
_OUTSIDE_FAILURES = (
    *(StopReason.PROMPT_TOO_LONG, StopReason.ENGINE_ERROR),
    *(StopReason.HARNESS, StopReason.NOT_RECORDED),
)


class Finding(StrEnum):
    """What a program that was sampled again came to."""

    AGREES = "agrees"
    """It does what the described program does, on every test that can be compared."""
    DIFFERS = "differs"
    """It does not, on some test."""
    NO_PROGRAM = "no_program"
    """The answer held no program, or half of one."""
    INCOMPARABLE = "incomparable"
    """No test can be compared."""
    FAILED = "failed"
    """Not the model's doing: no answer, or the judge failed."""


@dataclass(frozen=True, slots=True)
class Break:
    """The first transition of a chain that did not keep the behaviour."""

    from_step: int
    to_step: int


def first_break(steps: Sequence[Step], stop: Stop, length: int) -> Break | None:
    """Return where a finished chain broke; null if it did not, or before its first transition.

    Args:
        steps: the chain's, in order.
        stop: its end.
        length: last step, as the run was asked for.
    """
    for step in steps[1:]:
        index = step["index"]
        ends = index == stop["step"]
        if ends and stop["reason"] in _OUTSIDE_FAILURES:
            return None
        if ends and stop["reason"] in _MODEL_FAILURES:
            return Break(index - 1, index)
        if step["execution"] is not None and not _all_match(*count_matches(step["execution"])):
            return Break(index - 1, index)
    return _closing_break(stop, length)


def count_matches(execution: Execution) -> tuple[int, int]:
    """Return how many outcomes are comparable with those before, and how many equal them."""
    matches = [outcome["matches_previous"] for outcome in execution["outcomes"]]
    return sum(match is not None for match in matches), sum(match is True for match in matches)


def judge_resample(generation: Generation, execution: Execution | None) -> Finding:
    """Say what a program that was sampled again came to.

    Args:
        generation: its answer.
        execution: compared with that of the described program; null if there is no program.
    """
    answer = generation["answer"]
    if answer is not None and answer["error_kind"] is not None:
        return Finding.FAILED
    if execution is None or cut_off(generation, execution):
        return Finding.NO_PROGRAM
    if execution["verdict"] == Verdict.HARNESS:
        return Finding.FAILED
    comparable, matching = count_matches(execution)
    if not comparable:
        return Finding.INCOMPARABLE
    return Finding.AGREES if matching == comparable else Finding.DIFFERS


def _closing_break(stop: Stop, length: int) -> Break | None:
    """A cycle may break only where its last step comes back to its first."""
    start, size, comparable = stop["cycle_start"], stop["cycle_length"], stop["closing_comparable"]
    if start is None or size is None or comparable is None or start + size > length:
        return None
    if _all_match(comparable, stop["closing_matching"] or 0):
        return None
    return Break(start + size - 1, start)


def _all_match(comparable: int, matching: int) -> bool:
    """As SC counts it: nothing to compare has not shown that the behaviour was kept."""
    return comparable > 0 and matching == comparable
