"""The gold check: do a data set's own solutions pass its own tests in our judge?

A problem whose solution fails says nothing about a model, so it is left out of a run, by name
and with the reason. Every solution runs twice: as it is, and with the function's name masked in
program and tests, which is how the chain runs programs from step 1 on.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from conf import RunConfig, SandboxConfig
from pipeline.datasets import load_problems
from pipeline.display import show_outcome
from pipeline.jobs import build_job, record_execution
from pipeline.masking import MASK, mask_program
from pipeline.records import Execution, Problem, Test
from sandbox.types import Job, Kind, ProgramResult

PASS = "pass"


class RunsJobs(Protocol):
    """What the gold check needs: a sandbox pool."""

    def run_many(self, jobs: Iterable[Job]) -> Iterator[ProgramResult]:
        """Yield the results of the jobs as they finish."""
        ...


@dataclass(frozen=True, slots=True)
class GoldEntry:
    """What one problem's own solution came to."""

    problem_id: str
    plain: str | None
    """Verdict under the function's own name; None without a solution."""
    masked: str | None
    """Verdict under the mask; None without a solution."""
    reason: str
    """Why it is not sound; empty otherwise."""

    @property
    def checked(self) -> bool:
        """Whether there was a solution to run."""
        return self.plain is not None

    @property
    def sound(self) -> bool:
        """Whether the problem may be used: its solution passes both ways, or there is none."""
        return not self.checked or (self.plain == self.masked == PASS)


@dataclass(frozen=True, slots=True)
class GoldReport:
    """What all problems came to, in the data set's order."""

    entries: tuple[GoldEntry, ...]

    @property
    def sound(self) -> bool:
        """Whether no problem failed."""
        return all(entry.sound for entry in self.entries)

    @property
    def failing(self) -> dict[str, str]:
        """The problems that failed, each with the reason."""
        return {entry.problem_id: entry.reason for entry in self.entries if not entry.sound}

    @property
    def unchecked(self) -> list[str]:
        """The problems that have no solution to check."""
        return [entry.problem_id for entry in self.entries if not entry.checked]


def run_check(config: RunConfig) -> GoldReport:
    """Check the data set of a configuration in one sandbox of this process.

    Raises:
        UserError: the data set or the isolation level cannot be had.
    """
    from sandbox import Sandbox

    problems = load_problems(config.dataset)
    with Sandbox(config.sandbox) as sandbox:
        pool = OneSandbox(sandbox)
        labelled = label_tests(problems, pool, config.sandbox)
        return gold_check(labelled, pool, config.sandbox)


def gold_check(problems: pa.Table, sandbox: RunsJobs, config: SandboxConfig) -> GoldReport:
    """Run every canonical solution, unmasked and masked.

    Args:
        problems: schema ``PROBLEM``.
        sandbox: runs the programs.
        config: their budgets.
    """
    rows: list[Problem] = problems.to_pylist()
    by_id = {problem["problem_id"]: problem for problem in rows}
    found: dict[tuple[str, str], Execution] = {}
    jobs = (job for problem in rows for job in _jobs(problem, config))
    for result in sandbox.run_many(jobs):
        way, problem_id = _way_and_problem(result)
        found[way, problem_id] = record_execution(result, by_id[problem_id]["tests"])
    return GoldReport(tuple(_entry(problem, found) for problem in rows))


def label_tests(problems: pa.Table, sandbox: RunsJobs, config: SandboxConfig) -> pa.Table:
    """Fill in the expected values that a data set leaves to its own solutions.

    Args:
        problems: schema ``PROBLEM``; some tests may have arguments but no expected value.
        sandbox: runs the solutions.
        config: their budgets.

    Returns:
        The problems, every such test labelled with what the canonical solution returned. A test
        on which it returned nothing stays unlabelled.
    """
    rows: list[Problem] = problems.to_pylist()
    waiting = {
        row["problem_id"]: row
        for row in rows
        if row["canonical_solution"] is not None and any(map(_is_unlabelled, row["tests"]))
    }
    jobs = (_jobs(row, config)[0] for row in waiting.values())
    for result in sandbox.run_many(jobs):
        problem = waiting[_way_and_problem(result)[1]]
        for outcome, test in zip(result.outcomes, problem["tests"], strict=True):
            if _is_unlabelled(test) and outcome.kind is Kind.VALUE:
                test["expected"] = outcome.encoding
    return pa.Table.from_pylist(rows, schema=problems.schema)


def render_gold(report: GoldReport) -> str:
    """Return the report as plain text: one line a failing problem, then the sums."""
    checked = [entry for entry in report.entries if entry.checked]
    lines = [f"{problem_id}: {reason}" for problem_id, reason in report.failing.items()]
    for way, verdicts in (
        ("with their own names", [entry.plain for entry in checked]),
        ("masked", [entry.masked for entry in checked]),
    ):
        lines.append(f"{verdicts.count(PASS)} of {len(checked)} solutions pass {way}")
    if report.unchecked:
        lines.append(f"{len(report.unchecked)} problems have no solution to check")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class OneSandbox:
    """One sandbox of this process, used like a pool."""

    sandbox: "RunsOneJob"

    def run_many(self, jobs: Iterable[Job]) -> Iterator[ProgramResult]:
        """Yield the results in the jobs' order."""
        return map(self.sandbox.run, jobs)


class RunsOneJob(Protocol):
    """A sandbox."""

    def run(self, job: Job) -> ProgramResult:
        """Return what the program did."""
        ...


def _jobs(problem: Problem, config: SandboxConfig) -> list[Job]:
    """Return the job under the solution's own name and the masked one, if there is a solution."""
    solution, name = problem["canonical_solution"], problem["entry_point"]
    if solution is None:
        return []
    return [
        build_job(
            f"{way}:{problem['problem_id']}",
            program=program,
            preamble=problem["preamble"],
            entry_point=name,
            called=called,
            tests=problem["tests"],
            config=config,
        )
        for way, program, called in (
            ("plain", solution, name),
            ("masked", mask_program(solution, name), MASK),
        )
    ]


def _way_and_problem(result: ProgramResult) -> tuple[str, str]:
    way, _, problem_id = result.job_id.partition(":")
    return way, problem_id


def _is_unlabelled(test: Test) -> bool:
    return test["args"] is not None and test["expected"] is None


def _entry(problem: Problem, found: dict[tuple[str, str], Execution]) -> GoldEntry:
    problem_id = problem["problem_id"]
    plain, masked = found.get(("plain", problem_id)), found.get(("masked", problem_id))
    if plain is None or masked is None:
        return GoldEntry(problem_id, None, None, "")
    reason = ""
    if plain["verdict"] != PASS:
        reason = _reason(problem, plain, problem["entry_point"])
    elif masked["verdict"] != PASS:
        reason = f"masked only: {_reason(problem, masked, MASK)}"
    return GoldEntry(problem_id, plain["verdict"], masked["verdict"], reason)


def _reason(problem: Problem, execution: Execution, name: str) -> str:
    if execution["load"] != "ok":
        return f"does not load: {execution['load']} {execution['load_message']}".rstrip()
    for outcome, test in zip(execution["outcomes"], problem["tests"], strict=True):
        if outcome["verdict"] == execution["verdict"]:
            return show_outcome(outcome, test, name)
    return execution["verdict"]
