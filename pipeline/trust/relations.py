"""Running relations on inputs and outputs, apart from the programs that gave the outputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.checking import RunsJobs
from pipeline.trust.specs import RELATION, Spec
from pipeline.trust.values import NoSource, value_source
from sandbox.encoding import loads
from sandbox.types import Call, Job, Kind, Limits, Outcome

LIMITS = Limits(cpu_s=0.3, wall_s=3.0, load_cpu_s=2.0, program_cpu_s=10.0)
MOST_BYTES = 64 * 1024
"""Longest encoded output that is shown to a relation."""


@dataclass(frozen=True, slots=True)
class RelationRuns:
    """What relations said of pairs of an input (its number) and an output (its encoding)."""

    answers: Mapping[str, Mapping[tuple[int, str], bool | None]]

    @property
    def count(self) -> int:
        """How many were run."""
        return sum(map(len, self.answers.values()))

    def answer(self, spec_id: str, number: int, encoding: str) -> bool | None:
        """Tell whether a relation holds; None where it is itself in error, or was not run."""
        return self.answers[spec_id].get((number, encoding))


def run_relations(
    specs: Sequence[Spec], pairs: Mapping[tuple[int, str], str], sandbox: RunsJobs
) -> RelationRuns:
    """Run each relation on each pair.

    Args:
        specs: relations.
        pairs: input number and output to the source of the input's argument list.
        sandbox: runs them, each relation as a program of its own.
    """
    sources = _sources(pairs)
    calls = tuple(Call(str(n), args=args) for n, args in enumerate(sources.values()))
    jobs = (Job(spec.spec_id, spec.program, RELATION, calls, LIMITS) for spec in specs)
    answers: dict[str, dict[tuple[int, str], bool | None]] = {spec.spec_id: {} for spec in specs}
    for result in sandbox.run_many(jobs) if calls else ():
        answers[result.job_id] = dict(zip(sources, map(_said, result.outcomes), strict=True))
    return RelationRuns(answers)


def _sources(pairs: Mapping[tuple[int, str], str]) -> dict[tuple[int, str], str]:
    sources = {}
    for (number, encoding), args in pairs.items():
        if len(encoding) <= MOST_BYTES:
            try:
                value = value_source(encoding)
            except NoSource:
                continue
            sources[number, encoding] = f"{value}, {args}" if args else value
    return sources


def _said(outcome: Outcome) -> bool | None:
    if outcome.kind is Kind.VALUE:
        return True
    if outcome.kind is Kind.ERROR and outcome.encoding is not None:
        nearest = loads(outcome.encoding)[1]
        return False if nearest == "AssertionError" else None
    return None
