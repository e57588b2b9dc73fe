"""Every program of one problem against every spec of it.

Theory of operation. Nothing is run twice that must come out the same. A program is loaded once and
called on the union of the inputs of all specs; plain asserts are then decided by comparing. A
relation sees only an input and an output, so it is run once on each distinct pair of these, in a
process of its own, however many programs gave that output; a program that changes its arguments, or
the interpreter around it, cannot change what a relation sees. Hidden tests run in a job of their
own, so that the features of a program are the same whether or not labels are known.

A program that gives no value (it raises, or uses up its budget) violates what was asked of it. An
input on which no sampled program gives a value says nothing about any of them; relations leave it
out.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from pipeline.checking import RunsJobs
from pipeline.jobs import join_program, record_execution
from pipeline.trust.decide import Decider, Tally, relation_tally, tally_result
from pipeline.trust.relations import RelationRuns, run_relations
from pipeline.trust.samples import ProblemSamples, Sampled
from pipeline.trust.schemas import TRUST_TABLES
from pipeline.trust.specs import (
    MOST_INPUTS,
    Form,
    Spec,
    find_inputs,
    read_assert,
    read_relation,
)
from pipeline.trust.values import output_digest
from sandbox.types import Call, Job, Kind, Limits, Load, Outcome, ProgramResult

REFERENCE = "reference"
"""Id of the problem's own solution among the programs."""

SPEC_LIMITS = Limits(
    cpu_s=0.3, wall_s=3.0, load_cpu_s=2.0, program_cpu_s=1.5, encoding_bytes=256 * 1024
)
"""Few seconds for each of many programs: nearly all need milliseconds, and a few need for ever."""
LABEL_LIMITS = Limits(cpu_s=1.0, wall_s=5.0, load_cpu_s=2.0, program_cpu_s=2.0)


@dataclass(slots=True)
class Cost:
    """What was done and what it took; adds up over problems."""

    programs: int = 0
    """Distinct programs run."""
    cells: int = 0
    """Pairs of a program and an IO spec that were decided."""
    relation_checks: int = 0
    """Triples of a program, a relation and an input that were decided."""
    relation_runs: int = 0
    """Of these, what had to be run."""
    cpu_s: float = 0.0
    """CPU seconds, of the sandbox and of what decides."""

    def add(self, other: "Cost") -> None:
        """Add another cost to this one."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(slots=True)
class _Program:
    program_id: str
    sampled: Sampled
    outputs: list[Outcome] = field(default_factory=list)
    checks: dict[str, Outcome] = field(default_factory=dict)
    digests: list[str] = field(default_factory=list)
    load: Load = Load.HARNESS
    load_message: str = ""
    cpu_s: float = 0.0
    verdict: str | None = None

    @property
    def is_sampled(self) -> bool:
        return self.program_id != REFERENCE


Rows = dict[str, list[Mapping[str, Any]]]
"""The rows of each of TRUST_TABLES."""


def check_problem(samples: ProblemSamples, sandbox: RunsJobs) -> tuple[dict[str, pa.Table], Cost]:
    """Check every program of a problem, as ``check_rows`` does, and return tables."""
    rows, cost = check_rows(samples, sandbox)
    tables = {
        name: pa.Table.from_pylist(rows[name], schema=schema)
        for name, schema in TRUST_TABLES.items()
    }
    return tables, cost


def check_rows(samples: ProblemSamples, sandbox: RunsJobs) -> tuple[Rows, Cost]:
    """Check every program of a problem against every spec and the hidden tests.

    Args:
        samples: of one problem.
        sandbox: runs the programs.

    Returns:
        The rows of each of TRUST_TABLES, and the cost without CPU seconds, which whoever owns the
        sandbox knows.
    """
    programs, specs = _programs(samples), _specs(samples)
    inputs = _Inputs(samples, specs)
    _run_programs(samples, programs, specs, inputs, sandbox)
    _run_hidden_tests(samples, programs, sandbox)
    fuzz = [n for n in inputs.fuzz if any(_has_value(p, n) for p in programs if p.is_sampled)]
    relations = [spec for spec in specs if spec.form is Form.RELATION]
    runs = run_relations(relations, _pairs(programs, inputs, fuzz), sandbox)
    checks = _checks(programs, specs, inputs, fuzz, runs)
    rows: Rows = {
        "programs": [_program_row(samples, program) for program in programs],
        "specs": [_spec_row(samples, spec) for spec in specs],
        "outputs": list(_output_rows(samples, programs, inputs)),
        "checks": [{"problem_id": samples.problem["problem_id"], **row} for row in checks],
    }
    cost = Cost(
        programs=len(programs),
        cells=len(programs) * sum(s.kind == "io" and s.form is not Form.BROKEN for s in specs),
        relation_checks=len(programs) * len(relations) * len(fuzz),
        relation_runs=runs.count,
    )
    return rows, cost


class _Inputs:
    """The union of the inputs of all specs, numbered."""

    def __init__(self, samples: ProblemSamples, specs: Sequence[Spec]) -> None:
        fuzz = find_inputs(samples.calls, samples.problem)[:MOST_INPUTS]
        cases = [spec.args for spec in specs if spec.args is not None]
        self.args = list(dict.fromkeys([*fuzz, *cases]))
        self.number = {args: number for number, args in enumerate(self.args)}
        self.fuzz = [self.number[args] for args in fuzz]


def _programs(samples: ProblemSamples) -> list[_Program]:
    programs = [_Program(_digest(sampled.text), sampled) for sampled in samples.programs]
    solution = samples.problem["canonical_solution"]
    if solution is not None:
        programs.append(_Program(REFERENCE, Sampled(solution, ())))
    return programs


def _specs(samples: ProblemSamples) -> list[Spec]:
    problem = samples.problem
    asserts = (read_assert(f"io-{_digest(s.text)}", s, problem) for s in samples.asserts)
    relations = (
        read_relation(f"relation-{_digest(s.text)}", s, problem) for s in samples.relations
    )
    return [*asserts, *relations]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _run_programs(
    samples: ProblemSamples,
    programs: Sequence[_Program],
    specs: Sequence[Spec],
    inputs: _Inputs,
    sandbox: RunsJobs,
) -> None:
    """Call every program on all inputs, then run the checks that need it."""
    checks = [spec for spec in specs if spec.form is Form.CHECK]
    calls = [Call(str(number), args=args) for number, args in enumerate(inputs.args)]
    calls += [Call(spec.spec_id, check=spec.program) for spec in checks]
    for program, result in _run_all(samples, programs, tuple(calls), SPEC_LIMITS, sandbox):
        program.load, program.load_message = result.load, result.message
        program.outputs = list(result.outcomes[: len(inputs.args)])
        program.checks = {o.test_id: o for o in result.outcomes[len(inputs.args) :]}
        program.digests = [output_digest(outcome) for outcome in program.outputs]


def _run_hidden_tests(
    samples: ProblemSamples, programs: Sequence[_Program], sandbox: RunsJobs
) -> None:
    tests = samples.problem["tests"]
    calls = tuple(Call(t["test_id"], args=t["args"], check=t["check"]) for t in tests)
    if calls:
        for program, result in _run_all(samples, programs, calls, LABEL_LIMITS, sandbox):
            program.verdict = record_execution(result, tests)["verdict"]


def _run_all(
    samples: ProblemSamples,
    programs: Sequence[_Program],
    calls: tuple[Call, ...],
    limits: Limits,
    sandbox: RunsJobs,
) -> Iterator[tuple[_Program, ProgramResult]]:
    name = samples.problem["entry_point"]
    by_id = {program.program_id: program for program in programs}
    jobs = (
        Job(program_id, _whole(program.sampled.text, samples), name, calls, limits)
        for program_id, program in by_id.items()
    )
    for result in sandbox.run_many(jobs):
        program = by_id[result.job_id]
        program.cpu_s += result.cpu_s
        yield program, result


def _whole(text: str, samples: ProblemSamples) -> str:
    preamble = samples.problem["preamble"]
    return text if text.startswith(preamble) else join_program(preamble, text)


def _has_value(program: _Program, number: int) -> bool:
    return program.outputs[number].kind is Kind.VALUE


def _pairs(
    programs: Iterable[_Program], inputs: _Inputs, fuzz: Sequence[int]
) -> dict[tuple[int, str], str]:
    """Return the distinct pairs of input number and output, each with the input's source."""
    return {
        (number, outcome.encoding): inputs.args[number]
        for program in programs
        for number in fuzz
        if (outcome := program.outputs[number]).kind is Kind.VALUE and outcome.encoding is not None
    }


def _checks(
    programs: Sequence[_Program],
    specs: Sequence[Spec],
    inputs: _Inputs,
    fuzz: Sequence[int],
    runs: RelationRuns,
) -> Iterator[dict[str, Any]]:
    decider = Decider()
    for spec in specs:
        for program in programs:
            tally = Tally()
            if spec.form is Form.RELATION:
                outcomes = ((number, program.outputs[number]) for number in fuzz)
                tally = relation_tally(spec, outcomes, runs)
            elif spec.form is Form.CHECK:
                tally = decider.of_check(program.checks[spec.spec_id])
            elif spec.args is not None:
                tally = decider.of_case(spec, program.outputs[inputs.number[spec.args]])
            result = None if program.load is Load.HARNESS else tally_result(tally)
            yield {
                "program_id": program.program_id,
                "spec_id": spec.spec_id,
                "result": result,
                "held": tally.held,
                "violated": tally.violated,
                "errors": tally.errors,
                "no_value": tally.no_value,
            }


def _program_row(samples: ProblemSamples, program: _Program) -> Mapping[str, Any]:
    verdict = program.verdict
    return {
        "problem_id": samples.problem["problem_id"],
        "program_id": program.program_id,
        "source": program.sampled.text,
        "samples": list(program.sampled.samples),
        "weight": len(program.sampled.samples),
        "logprob": program.sampled.logprob,
        "load": str(program.load),
        "load_message": program.load_message,
        "cpu_s": program.cpu_s,
        "correct": None if verdict in (None, "harness") else verdict == "pass",
        "verdict": verdict,
    }


def _spec_row(samples: ProblemSamples, spec: Spec) -> Mapping[str, Any]:
    return {
        "problem_id": samples.problem["problem_id"],
        "spec_id": spec.spec_id,
        "kind": spec.kind,
        "form": str(spec.form),
        "source": spec.sampled.text,
        "samples": list(spec.sampled.samples),
        "weight": len(spec.sampled.samples),
        "args": spec.args,
        "expected": spec.expected,
        "message": spec.message,
    }


def _output_rows(
    samples: ProblemSamples, programs: Sequence[_Program], inputs: _Inputs
) -> Iterator[dict[str, Any]]:
    fuzz = set(inputs.fuzz)
    for program in programs:
        for number, outcome in enumerate(program.outputs):
            yield {
                "problem_id": samples.problem["problem_id"],
                "program_id": program.program_id,
                "input_id": number,
                "args": inputs.args[number],
                "fuzz": number in fuzz,
                "kind": str(outcome.kind),
                "encoding": outcome.encoding,
                "output": program.digests[number],
            }
