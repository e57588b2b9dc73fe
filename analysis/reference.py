"""Scores from recorded result texts, by the release's rules (``reference``) or ours (``strict``).

Theory of operation. The two scorings differ in five rules, each a switch of ``Rules``, so that any
difference can be traced to the rules that make it: named for a changed value are the fewest of our
rules that, put in the release's place, give our value.

What a record does not hold, neither scoring can mend: an output was recorded by ``str``, so ``0``
and ``"0"`` look alike and ``0`` and ``0.0`` do not; a step that an early stop copied looks like one
that ran; names were masked inside of words. Those need another run (docs/scoring.md).
"""

import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import polars as pl

from analysis.recorded import PASSED, TIME_OUT, RecordedChain, RecordedStep
from conf import UserError

MASK = "func"
_WRONG_ANSWER = "AssertionError: outputs "
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+\b")
_LINE = re.compile(r"\bline [0-9]+\b")


@dataclass(frozen=True, slots=True)
class Rules:
    """A way to score; a switch is on for our rule and off for the release's."""

    all_passed: bool
    """A program passes if all its results are ``Passed``. Release: if none contains ``Error``, so
    that a time-out, a ``StopIteration`` or a ``SystemExit`` passes.
    """
    time_outs_differ: bool
    """A time-out against any other result is a difference, only two time-outs compare to nothing.
    Release: a test that timed out on either side is left out.
    """
    execution_decides: bool
    """TOM and P/FM come from the results alone. Release: equal program texts score 1 unseen.
    """
    messages_scrubbed: bool
    """Errors are compared without addresses, line numbers and the function's two names.
    Release: as recorded, though a line number depends on the docstring's length.
    """
    nothing_undefined: bool
    """With no test left to compare TOM is undefined, and SC does not hold. Release: TOM is 0."""


RULES = tuple(field.name for field in dataclasses.fields(Rules))
SCORINGS = {
    "reference": Rules(**dict.fromkeys(RULES, False)),
    "strict": Rules(**dict.fromkeys(RULES, True)),
}

SCORED = pl.Schema(
    {
        "problem_id": pl.String,
        "sample": pl.Int32,
        "step": pl.Int32,
        "passed": pl.Boolean,
        "tom": pl.Float64,
        "match": pl.Boolean,
        "pfm": pl.Boolean,
        "same_text": pl.Boolean,
        "sc": pl.Boolean,
        "ssc": pl.Boolean,
    }
)


@dataclass(frozen=True, slots=True)
class Change:
    """One value that the two scorings see differently."""

    problem_id: str
    step: int
    score: str
    """``passed`` of this step, or ``tom`` or ``pfm`` of the transition into it."""
    reference: float | None
    strict: float | None
    rules: tuple[str, ...]
    """Fields of ``Rules``: the fewest that make the difference."""


def rules_of(scoring: str) -> Rules:
    """Return the rules of a scoring.

    Raises:
        UserError: there is no such scoring.
    """
    if scoring not in SCORINGS:
        raise UserError(f"scoring={scoring!r} is not possible; choose one of {', '.join(SCORINGS)}")
    return SCORINGS[scoring]


def score_recorded(chains: Iterable[RecordedChain], rules: Rules) -> pl.DataFrame:
    """Return one row of schema ``SCORED`` for each chain and step.

    All chains get the steps of the longest. A step that is missing, or skipped by the release, or
    comes after a skipped one (it was made from the text ``NA``) is null in every column, but for
    SSC under our rules: the release skips only after a failed program, so SSC is false.

    - ``passed``, ``tom``, ``pfm``: see ``Rules``; the last two compare with the step before.
    - ``match``: TOM is 1.
    - ``same_text``: the program's text equals that of the step before (EM).
    - ``sc``, ``ssc``: every transition up to here matches; every program up to here passes.
    """
    chains = list(chains)
    length = max((len(chain.steps) for chain in chains), default=0)
    rows = [row for chain in chains for row in _score_chain(chain, rules, length)]
    return pl.DataFrame(rows, schema=SCORED, orient="row")


def list_changes(chains: Iterable[RecordedChain]) -> tuple[Change, ...]:
    """Return every ``passed``, ``tom`` and ``pfm`` on which the two scorings differ, and why."""
    return tuple(
        Change(chain.problem_id, step, score, old, new, _rules_behind(value_under))
        for chain in chains
        for step in range(len(_ran(chain)))
        for score, value_under in _values(chain, step).items()
        if (old := value_under(SCORINGS["reference"])) != (new := value_under(SCORINGS["strict"]))
    )


def passes(results: Sequence[str], rules: Rules) -> bool:
    """Tell whether a program with these results passes its tests."""
    if rules.all_passed:
        return all(result == PASSED for result in results)
    return not any("Error" in result for result in results)


def output_match(
    before: RecordedStep, after: RecordedStep, rules: Rules, *, name: str
) -> float | None:
    """Return Test Output Match of two steps (IdentityChain, arXiv 2310.14053, section 4.3).

    Args:
        before: an executed step.
        after: the executed step to compare with it.
        rules: how to compare.
        name: the function's unmasked name.
    """
    if not rules.execution_decides and before.pl == after.pl:
        return 1.0
    pairs = list(zip(before.results or (), after.results or (), strict=True))
    if rules.time_outs_differ:
        kept = [pair for pair in pairs if set(pair) != {TIME_OUT}]
    else:
        kept = [pair for pair in pairs if TIME_OUT not in pair]
    if not kept:
        return None if rules.nothing_undefined else 0.0
    if rules.messages_scrubbed:
        return sum(_scrub(old, name) == _scrub(new, name) for old, new in kept) / len(kept)
    return sum(old == new for old, new in kept) / len(kept)


def pass_fail_match(before: RecordedStep, after: RecordedStep, rules: Rules) -> bool:
    """Tell whether both programs pass or both fail (P/FM, section 4.3)."""
    if not rules.execution_decides and before.pl == after.pl:
        return True
    return passes(before.results or (), rules) == passes(after.results or (), rules)


def _scrub(result: str, name: str) -> str:
    """Take out of a result what depends on the run and not on the behaviour.

    What a wrong answer shows after ``outputs`` is a value: a line number or a name in it counts.
    """
    # The name as a word of a message, where the release masked programs inside of words: a
    # message quotes the whole name, and ours must not change the words around it.
    result = _ADDRESS.sub("0x", result)
    if result.startswith(_WRONG_ANSWER):
        return result
    return re.sub(rf"\b{re.escape(name)}\b", MASK, _LINE.sub("line", result))


def _ran(chain: RecordedChain) -> list[RecordedStep]:
    """Return the steps before the first skipped one."""
    results = [step.results for step in chain.steps]
    return list(chain.steps[: results.index(None) if None in results else len(results)])


def _score_chain(chain: RecordedChain, rules: Rules, length: int) -> list[tuple[Any, ...]]:
    ran = _ran(chain)
    skipped = len(ran) < len(chain.steps)
    rows: list[tuple[Any, ...]] = []
    holds, strong = True, True
    for index in range(length):
        key = (chain.problem_id, 0, index)
        if index >= len(ran):
            known = skipped and rules.all_passed
            rows.append((*key, None, None, None, None, None, None, False if known else None))
            continue
        step = ran[index]
        passed = passes(step.results or (), rules)
        strong = strong and passed
        if index == 0:
            rows.append((*key, passed, None, None, None, None, None, strong))
            continue
        before = ran[index - 1]
        tom = output_match(before, step, rules, name=chain.function_name)
        pfm = pass_fail_match(before, step, rules)
        holds = holds and tom == 1.0
        rows.append((*key, passed, tom, tom == 1.0, pfm, before.pl == step.pl, holds, strong))
    return rows


def _values(chain: RecordedChain, step: int) -> dict[str, Callable[[Rules], float | None]]:
    """Return what can differ at one step, as functions of the rules."""
    now = chain.steps[step]
    values: dict[str, Callable[[Rules], float | None]] = {
        "passed": lambda rules: passes(now.results or (), rules)
    }
    if step:
        before = chain.steps[step - 1]
        name = chain.function_name
        values["tom"] = lambda rules: output_match(before, now, rules, name=name)
        values["pfm"] = lambda rules: pass_fail_match(before, now, rules)
    return values


def _rules_behind(value_under: Callable[[Rules], float | None]) -> tuple[str, ...]:
    """Return the fewest of our rules that, put in the release's place, give our value."""
    reference, strict = SCORINGS["reference"], SCORINGS["strict"]
    new = value_under(strict)
    subsets = (chosen for size in range(len(RULES)) for chosen in combinations(RULES, size))
    for chosen in subsets:
        if value_under(dataclasses.replace(reference, **dict.fromkeys(chosen, True))) == new:
            return chosen
    return RULES
