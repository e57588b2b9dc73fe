"""Three-valued answers: does a spec hold of a program, is it violated, or is it itself in error?"""

from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.trust.relations import RelationRuns
from pipeline.trust.specs import Form, Spec
from pipeline.trust.values import is_true
from sandbox.compare import equal
from sandbox.encoding import loads
from sandbox.types import Kind, Outcome

HOLDS, VIOLATED, ERROR = "holds", "violated", "error"


@dataclass(slots=True)
class Tally:
    """A spec's inputs by what came of them."""

    held: int = 0
    violated: int = 0
    errors: int = 0
    no_value: int = 0
    """The program raised, or its budget was used up."""


def tally_result(tally: Tally) -> str:
    """Return ``holds`` if some input held and none was against it, ``violated`` if any was.

    A spec that could be decided on no input is in error.
    """
    if tally.violated or tally.no_value:
        return VIOLATED
    return HOLDS if tally.held else ERROR


class Decider:
    """Decides IO specs from outcomes; the same comparison is made once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], bool] = {}

    def of_case(self, spec: Spec, outcome: Outcome) -> Tally:
        """Decide a case, or a truth, by its output."""
        if outcome.kind is Kind.HARNESS:
            return Tally(errors=1)  # the spec's arguments cannot be made
        if outcome.kind is not Kind.VALUE or outcome.encoding is None:
            return Tally(no_value=1)
        key = spec.spec_id, outcome.encoding
        if key not in self._known:
            self._known[key] = _holds(spec, outcome.encoding)
        return Tally(held=1) if self._known[key] else Tally(violated=1)

    def of_check(self, outcome: Outcome) -> Tally:
        """Decide a check, which ran: an exception of its own is its error."""
        if outcome.held:
            return Tally(held=1)
        if outcome.kind is Kind.HARNESS:
            return Tally(errors=1)
        if outcome.kind is not Kind.VALUE:
            return Tally(no_value=1)
        failed = outcome.message.partition(":")[0] == "AssertionError"
        return Tally(violated=1) if failed else Tally(errors=1)


def relation_tally(
    spec: Spec, outcomes: Iterable[tuple[int, Outcome]], runs: RelationRuns
) -> Tally:
    """Count a relation's inputs (number, what the program did there)."""
    tally = Tally()
    for number, outcome in outcomes:
        if outcome.kind is not Kind.VALUE or outcome.encoding is None:
            tally.no_value += 1
            continue
        holds = runs.answer(spec.spec_id, number, outcome.encoding)
        if holds is None:
            tally.errors += 1
        elif holds:
            tally.held += 1
        else:
            tally.violated += 1
    return tally


def _holds(spec: Spec, encoding: str) -> bool:
    if spec.expected is None:
        raise ValueError(f"spec {spec.spec_id!r}: a case without a value")
    if spec.form is Form.TRUTH:
        return is_true(encoding) is loads(spec.expected)
    return equal(encoding, spec.expected, spec.comparator, spec.atol)
