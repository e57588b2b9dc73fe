"""Chains for the tests of ``analysis``: as bare records, and as runs of a small toy world."""

from dataclasses import dataclass, field
from itertools import pairwise

import polars as pl
from hypothesis import strategies as st

from analysis.tables import CHAINS, COMPLETIONS, OUTCOMES, STEPS, STOP_REASONS, RunTables

TESTS = 4


@dataclass
class MadeStep:
    verdict: str | None = "pass"  # null: the step was begun, but has no program
    comparable: int = 0
    matching: int = 0
    tests: int = TESTS


@dataclass
class Case:
    reason: str
    stop_step: int
    made: list[MadeStep]
    length: int = 3
    cycle: tuple[int, int] | None = None  # start, length
    closing: tuple[int, int] | None = None  # comparable, matching
    problem: str = "p"
    sample: int = 0
    requests: list[tuple[str, int, int]] = field(default_factory=list)  # role, step, tokens

    @property
    def chain_id(self) -> str:
        return f"{self.problem}/{self.sample}"


def good(*, matching: int = TESTS, verdict: str = "pass") -> MadeStep:
    return MadeStep(verdict, TESTS, matching)


def first(verdict: str = "pass") -> MadeStep:
    return MadeStep(verdict)


def case_of(reason: str, stop_step: int, verdicts: str = "", **options) -> Case:
    """Steps by letters: P and F match the step before, p and f do not."""
    made = [
        MadeStep(
            "pass" if letter in "Pp" else "fail",
            TESTS if step else 0,
            (TESTS if letter.isupper() else 1) if step else 0,
        )
        for step, letter in enumerate(verdicts)
    ]
    return Case(reason, stop_step, made, **options)


def to_tables(cases: list[Case]) -> RunTables:
    rows: dict[str, list] = {"chains": [], "steps": [], "outcomes": [], "completions": []}
    for case in cases:
        key = {"chain_id": case.chain_id, "problem_id": case.problem, "sample": case.sample}
        rows["chains"].append(_chain(case, key))
        for step, made in enumerate(case.made):
            at = {**key, "step": step}
            tests = made.tests if made.verdict else 0
            counts = {"tests": tests, "comparable": made.comparable, "matching": made.matching}
            cpu_s = 0.25 if made.verdict else None
            rows["steps"].append({**at, **counts, "verdict": made.verdict, "cpu_s": cpu_s})
            for test in range(tests):
                matches = None if test >= made.comparable else test < made.matching
                rows["outcomes"].append({**at, "test_id": str(test), "matches_previous": matches})
        for role, step, tokens in case.requests:
            used = {"prompt_tokens": 10 * tokens, "completion_tokens": tokens}
            rows["completions"].append({**key, "step": step, "role": role, **used})
    schemas = {"chains": CHAINS, "steps": STEPS, "outcomes": OUTCOMES, "completions": COMPLETIONS}
    return RunTables(
        **{name: pl.LazyFrame(rows[name], schema=schema) for name, schema in schemas.items()}
    )


def _chain(case: Case, key: dict) -> dict:
    start, length = case.cycle or (None, None)
    comparable, matching = case.closing or (None, None)
    return {
        **key,
        "dataset": "toy",
        "length": case.length,
        "steps": sum(made.verdict is not None for made in case.made),
        "stop_reason": case.reason,
        "stop_step": case.stop_step,
        "cycle_start": start,
        "cycle_length": length,
        "closing_comparable": comparable,
        "closing_matching": matching,
    }


@st.composite
def bare_cases(draw, length: int = 4) -> Case:
    """Any chain that a run could record, with no sense in its numbers."""
    reason = draw(st.sampled_from(STOP_REASONS))
    problem = draw(st.sampled_from("abc"))
    counts = {"problem": problem, "length": length}
    if reason == "length":
        return Case(reason, length, _steps(draw, length + 1), **counts)
    if reason in ("fixed_point", "cycle"):
        size = 1 if reason == "fixed_point" else draw(st.integers(2, length))
        made = draw(st.integers(size + 1, length + 1))
        closing = None
        if reason == "cycle":
            comparable = draw(st.integers(0, TESTS))
            closing = (comparable, draw(st.integers(0, comparable)))
        stop = draw(st.integers(made - 1, min(made, length)))
        begun = [MadeStep(None)] if stop == made else []
        steps = _steps(draw, made) + begun
        return Case(reason, stop, steps, cycle=(made - size, size), closing=closing, **counts)
    if reason == "decided":
        stop = draw(st.integers(1, length))
        steps = _steps(draw, stop + 1)
        steps[-1] = MadeStep(draw(st.sampled_from(["pass", "fail"])), TESTS, TESTS - 1)
        return Case(reason, stop, steps, **counts)
    stop = draw(st.integers(0, length))
    last = {"harness": [MadeStep("harness")], "truncated": _steps(draw, 1)}
    steps = _steps(draw, stop) + draw(st.sampled_from([[], last.get(reason, [MadeStep(None)])]))
    return Case(reason, stop, steps, **counts)


def _steps(draw, count: int) -> list[MadeStep]:
    steps = []
    for step in range(count):
        comparable = draw(st.integers(0, TESTS)) if step else 0
        matching = draw(st.integers(0, comparable))
        verdict = draw(st.sampled_from(["pass", "pass", "fail", "timeout"]))
        steps.append(MadeStep(verdict, comparable, matching))
    return steps


@dataclass(frozen=True)
class World:
    """A greedy model on a handful of texts: each answer is a function of its prompt."""

    first_program: int
    describe: tuple[int, ...]  # description of each program
    write: tuple[int, ...]  # program for each description
    outputs: tuple[tuple[int, ...], ...]  # of each program, on each test

    def run(self, length: int, stop: tuple[str, ...], problem: str) -> Case:
        """Run one chain; a program passes if all its outputs are 0."""
        programs, described = [self.first_program], [-1]
        requests = [("generate", 0, self._tokens(self.first_program))]
        for step in range(1, length + 1):
            if step > 1 and self._mismatch(programs) and "decided" in stop:
                return self._case("decided", step - 1, programs, requests, length, problem)
            earlier = [i for i in range(1, step) if programs[i - 1] == programs[-1]]
            if closure := _closure(earlier, step, stop):
                return self._case(
                    closure[0], step - 1, programs, requests, length, problem, closure[1]
                )
            described.append(self.describe[programs[-1]])
            requests.append(("summarize", step, 7 + described[-1] ** 2))
            earlier = [i for i in range(1, step) if described[i] == described[-1]]
            if closure := _closure(earlier, step, stop):
                case = self._case(closure[0], step, programs, requests, length, problem, closure[1])
                case.made.append(MadeStep(None))
                return case
            programs.append(self.write[described[-1]])
            requests.append(("generate", step, self._tokens(programs[-1])))
        reason, cycle = "length", None
        if self._mismatch(programs) and "decided" in stop:
            reason = "decided"
        earlier = [i for i in range(1, length + 1) if programs[i - 1] == programs[-1]]
        if closure := _closure(earlier, length + 1, stop):
            reason, cycle = closure
        return self._case(reason, length, programs, requests, length, problem, cycle)

    def _case(self, reason, step, programs, requests, length, problem, cycle=None) -> Case:
        made = [self._made(None, programs[0])]
        made += [self._made(a, b) for a, b in pairwise(programs)]
        closing = None
        if reason == "cycle":
            back = self._made(programs[cycle[0] + cycle[1] - 1], programs[cycle[0]])
            closing = (back.comparable, back.matching)
        return Case(
            reason,
            step,
            made,
            length=length,
            cycle=cycle,
            closing=closing,
            problem=problem,
            requests=list(requests),
        )

    def _made(self, before: int | None, program: int) -> MadeStep:
        outputs = self.outputs[program]
        verdict = "fail" if any(outputs) else "pass"
        if before is None:
            return MadeStep(verdict, tests=len(outputs))
        matching = sum(a == b for a, b in zip(self.outputs[before], outputs, strict=True))
        return MadeStep(verdict, len(outputs), matching, tests=len(outputs))

    def _mismatch(self, programs: list[int]) -> bool:
        return len(programs) > 1 and self.outputs[programs[-1]] != self.outputs[programs[-2]]

    def _tokens(self, program: int) -> int:
        return 20 + program**3


def _closure(earlier, step, stop) -> tuple[str, tuple[int, int]] | None:
    for start in reversed(earlier):
        reason = "fixed_point" if step - start == 1 else "cycle"
        if reason in stop:
            return reason, (start, step - start)
        return None
    return None


@st.composite
def worlds(draw, texts: int = 5) -> World:
    some = st.integers(0, texts - 1)
    functions = st.tuples(*[some] * texts)
    output = st.tuples(*[st.integers(0, 1)] * 2)
    return World(draw(some), draw(functions), draw(functions), draw(st.tuples(*[output] * texts)))
