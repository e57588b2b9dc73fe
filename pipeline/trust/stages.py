"""The stages of the trust job. A row is a problem; like all stages, these know nothing of Ray.

Specs are asked for without showing a program: a program and a spec agree only by what the problem
says of both.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import asdict
from itertools import islice
from typing import Any

from conf import RunConfig
from pipeline.records import Answer, Problem, StopReason
from pipeline.schemas import PROBLEM
from pipeline.stages.asking import ask
from pipeline.stages.base import Row, RunsPrograms, Stage, StageContext, columns
from pipeline.stopping import make_stop
from pipeline.trust.matrix import check_rows
from pipeline.trust.roles import (
    ASSERT,
    INPUT,
    PROGRAM,
    RELATION,
    asked_roles,
    request_name,
    trust_book,
    trust_prompt,
    trust_sampling,
)
from pipeline.trust.rows import answers_of, problem_of, read_answers, samples_of
from pipeline.trust.schemas import TRUST_ROW
from sandbox.types import Job, ProgramResult

JOBS_IN_FLIGHT = 8
"""Programs of one problem that are at the sandbox at the same time."""


class _Asks(Stage):
    """What the stages that sample share."""

    uses = "engine"
    roles: tuple[str, ...]

    def __init__(self, context: StageContext) -> None:
        super().__init__(context)
        self.book = trust_book(self.config)
        self.times = asked_roles(self.config)

    async def sample(self, problem: Problem, role: str) -> list[Answer]:
        """Ask the same question several times, each with a seed of its own."""
        prompt = trust_prompt(self.book, role, problem)
        ids = [request_name(problem["problem_id"], n, role) for n in range(self.times[role])]
        return await asyncio.gather(
            *(ask(self.engine, i, prompt, trust_sampling(self.config, role, i)) for i in ids)
        )


class SamplePrograms(_Asks):
    """Sample programs that solve the problem."""

    name = "SamplePrograms"
    reads = columns(TRUST_ROW, *PROBLEM.names)
    writes = columns(TRUST_ROW, "program_answers", "stop")

    async def process(self, row: Row) -> Row:
        """Ask for programs; a problem for which the engine has none stops here."""
        answers = await self.sample(problem_of(row), PROGRAM)
        stop = None
        if all(answer["text"] is None for answer in answers):
            first = answers[0]
            kind = StopReason(first["error_kind"] or StopReason.ENGINE_ERROR)
            stop = make_stop(kind, 0, message=first["error_message"])
        return {"program_answers": answers, "stop": stop}


class SampleSpecs(_Asks):
    """Sample specs of both kinds, and calls if they are wanted; then read all answers."""

    name = "SampleSpecs"
    reads = columns(TRUST_ROW, *PROBLEM.names, "program_answers")
    writes = columns(TRUST_ROW, "assert_answers", "relation_answers", "input_answers", "samples")

    async def process(self, row: Row) -> Row:
        """Ask in the three roles at the same time."""
        problem, roles = problem_of(row), (ASSERT, RELATION, INPUT)
        found = await asyncio.gather(*(self.sample(problem, role) for role in roles))
        made = {f"{role}_answers": each for role, each in zip(roles, found, strict=True)}
        samples = read_answers(problem, answers_of({**row, **made}), self.config)
        return {**made, "samples": samples}


class Check(Stage):
    """Check every program against every spec and the hidden tests."""

    name = "Check"
    uses = "sandbox"
    reads = columns(TRUST_ROW, *PROBLEM.names, "samples")
    writes = columns(TRUST_ROW, "programs", "specs", "outputs", "checks", "cost")

    def __init__(self, context: StageContext) -> None:
        super().__init__(context)
        self._counted_s = time.process_time()

    async def process(self, row: Row) -> Row:
        """Stream the matrix to the sandbox; deciding takes time too, so it has a thread.

        This process checks a few problems at the same time: what it used since the last one was
        done is counted for the one that is done next.
        """
        jobs = LoopJobs(self.sandbox, asyncio.get_running_loop())
        rows, cost = await asyncio.to_thread(check_rows, samples_of(row), jobs)
        now = time.process_time()
        cost.cpu_s = now - self._counted_s + jobs.cpu_s
        self._counted_s = now
        return {**rows, "cost": asdict(cost)}


class LoopJobs:
    """The sandbox of an event loop as a thread sees it: some jobs in flight, results as they come.

    Args:
        sandbox: runs one job; belongs to the loop.
        loop: runs in another thread.
    """

    def __init__(self, sandbox: RunsPrograms, loop: asyncio.AbstractEventLoop) -> None:
        self.sandbox = sandbox
        self.loop = loop
        self.cpu_s = 0.0
        """CPU seconds of all programs so far, with the sandboxes' own where these are counted."""

    def run_many(self, jobs: Iterable[Job]) -> Iterator[ProgramResult]:
        """Yield the results of the jobs as they finish."""
        source = iter(jobs)
        running: set[Future[ProgramResult]] = set()
        while True:
            for job in islice(source, JOBS_IN_FLIGHT - len(running)):
                running.add(asyncio.run_coroutine_threadsafe(self.sandbox.run(job), self.loop))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                result = future.result()
                whole = result.whole_cpu_s
                self.cpu_s += result.cpu_s if whole is None else whole
                yield result


def trust_rounds(config: RunConfig) -> tuple[tuple[type[Stage], ...], ...]:
    """Return the job's rounds: sampling, unless samples are stored, then checking."""
    checking: tuple[type[Stage], ...] = (Check,)
    return (checking,) if config.trust.source else ((SamplePrograms, SampleSpecs), checking)


def count_requests(rows: Iterable[dict[str, Any]]) -> tuple[int, int]:
    """Return how many requests these problems made, and the tokens of their answers."""
    answers = [a for row in rows for each in answers_of(row).values() for a in each]
    return len(answers), sum(answer["completion_tokens"] or 0 for answer in answers)
