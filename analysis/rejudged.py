"""Recorded results against those of the same programs run again: what differs, and why."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from analysis.recorded import PASSED, TIME_OUT, RecordedChain

_WRONG_ANSWER = "AssertionError: outputs "
_BUDGETS = ("MemoryError: ", "Error: ")
_RUN_DEPENDENT = re.compile(r"\b0x[0-9a-fA-F.]+|\bline [0-9]+\b")
_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Difference:
    """One test whose result is not as recorded."""

    problem_id: str
    step: int
    test: int
    """Position of the test, from 0."""
    recorded: str
    ours: str
    cause: str
    """What explains it, as far as the two results tell."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """All results of a file."""

    programs: int
    results: int
    differences: tuple[Difference, ...]

    @property
    def equal(self) -> int:
        """How many results are as recorded."""
        return self.results - len(self.differences)


def compare_results(pairs: Iterable[tuple[RecordedChain, RecordedChain]]) -> Agreement:
    """Compare chains as recorded with the same chains as we judged them, result by result."""
    programs = results = 0
    differences: list[Difference] = []
    for recorded, ours in pairs:
        for number, (old, new) in enumerate(zip(recorded.steps, ours.steps, strict=True)):
            programs += old.results is not None
            texts = list(zip(old.results or (), new.results or (), strict=True))
            results += len(texts)
            differences += [
                Difference(recorded.problem_id, number, test, before, now, cause_of(before, now))
                for test, (before, now) in enumerate(texts)
                if before != now
            ]
    return Agreement(programs, results, tuple(differences))


def cause_of(recorded: str, ours: str) -> str:
    """Return what explains that two results of one test differ."""
    if TIME_OUT in (recorded, ours):
        return "time: the record's limit is wall time on another machine, ours CPU time"
    if ours.startswith(_BUDGETS):
        return "budget: more memory or output than our judge allows"
    if _RUN_DEPENDENT.sub("", recorded) == _RUN_DEPENDENT.sub("", ours):
        return "address or line: the same but for what depends on the run"
    kinds = [result.partition(":")[0] for result in (recorded, ours)]
    if PASSED not in (recorded, ours) and kinds[0] == kinds[1]:
        if recorded.startswith(_WRONG_ANSWER):
            return "output: another wrong value (chance, order of a set, state of earlier tests)"
        return "wording: the same kind of error in the words of another Python"
    return "behaviour: the program did something else; not explained by its results"


def render_agreement(agreement: Agreement) -> list[str]:
    """Return the comparison as lines of text, every difference with its cause."""
    lines = [
        f"{agreement.equal} of {agreement.results} results of {agreement.programs} programs "
        "are as recorded"
    ]
    causes = Counter(difference.cause for difference in agreement.differences)
    for cause, count in causes.most_common():
        lines.append(f"  {count} by {cause}")
        for found in agreement.differences:
            if found.cause == cause:
                place = f"{found.problem_id} step {found.step} test {found.test}"
                lines.append(f"    {place}: {_cut(found.recorded)} -> {_cut(found.ours)}")
    return lines


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."
