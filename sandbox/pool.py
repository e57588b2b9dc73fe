"""The sandbox actors of a run, shared by all that have programs to judge.

The driver starts the pool; copies of it travel to other actors. Jobs travel in batches, because a
call costs Ray about as much as a short program costs the sandbox. A job of an actor that dies is
run again on another one, and the dead one is left alone for a while: when its node is gone, its
next life may have to wait for a CPU for ever.
"""

import asyncio
import math
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Self, TypeAlias

import ray

from conf import SandboxConfig, UserError
from sandbox.actor import SandboxActor
from sandbox.types import Job, ProgramResult

WAITING_PER_ACTOR = 2
"""Batches of ``run_many`` at one actor: the next is there when one is done, and no more."""

LARGEST_BATCH = 16
CALLS_PER_ACTOR = 1
"""Batches of ``run`` of one copy at one actor: while it works on one the next gathers."""
PAUSE_S = 0.2
"""Between two of these that are not full: several copies keep an actor busy between them."""

_Waiting: TypeAlias = "tuple[Job, asyncio.Future[ProgramResult]]"

AWAY_S = 2.0
"""How long an actor that did not answer is left alone."""
CHECK_S = 5.0
"""After how long an actor is asked whether it is still there."""


class SandboxPool:
    """Runs programs on whichever actor is free; picklable.

    Args:
        actors: handles of SandboxActor.
        isolation: what they all give.
    """

    def __init__(self, actors: list[Any], isolation: dict[str, Any]) -> None:
        self.isolation = isolation
        self._actors = actors
        self._jobs: list[_Waiting] = []
        self._calls = [0] * len(actors)
        self._tasks: set[asyncio.Task[None]] = set()
        self._away_until = [0.0] * len(actors)

    @classmethod
    def start(cls, config: SandboxConfig, *, actors: int, cpus: float = 1.0) -> Self:
        """Start the actors and wait until all have proved the same level.

        Ray must be initialised.

        Args:
            config: how programs run.
            actors: how many.
            cpus: that Ray sets aside for each.

        Raises:
            UserError: a host cannot give the level, or two nodes give different ones.
        """
        make = SandboxActor.options(num_cpus=cpus)  # type: ignore[attr-defined]
        handles = [make.remote(config) for _ in range(actors)]
        try:
            found = ray.get([handle.isolation.remote() for handle in handles])
        except ray.exceptions.ActorDiedError as error:
            raise UserError(f"no sandbox could be started: {_reason(error)}") from error
        levels = sorted({each["level"] for each in found})
        if len(levels) > 1:
            raise UserError(
                f"the nodes give different isolation levels ({', '.join(levels)}); "
                f"set sandbox.isolation to one that all of them give"
            )
        return cls(handles, found[0])

    async def run(self, job: Job) -> ProgramResult:
        """Run one program on its calls."""
        done: asyncio.Future[ProgramResult] = asyncio.get_running_loop().create_future()
        self._jobs.append((job, done))
        self._send_jobs()
        return await done

    def _send_jobs(self) -> None:
        """Give each actor that is free its share of the jobs that wait."""
        while self._jobs and (index := self._free()) is not None:
            share = min(LARGEST_BATCH, math.ceil(len(self._jobs) / len(self._actors)))
            batch, self._jobs = self._jobs[:share], self._jobs[share:]
            self._calls[index] += 1
            task = asyncio.create_task(self._run_batch(index, batch))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _run_batch(self, index: int, batch: list[_Waiting]) -> None:
        sent_at = time.monotonic()
        try:
            results = await self._judged(index, [job for job, _ in batch])
            for result, (_, done) in zip(results, batch, strict=False):
                if not done.done():
                    done.set_result(result)
            self._jobs = batch[len(results) :] + self._jobs
            self._send_jobs()
            if len(self._jobs) < LARGEST_BATCH:
                await asyncio.sleep(sent_at + PAUSE_S - time.monotonic())
        except Exception as error:
            for _, done in batch:
                if not done.done():
                    done.set_exception(error)
        finally:
            self._calls[index] -= 1
        self._send_jobs()

    async def _judged(self, index: int, jobs: list[Job]) -> list[ProgramResult]:
        """Return what came of a batch: nothing if its actor died."""
        if (pause := self._away_until[index] - time.monotonic()) > 0:
            await asyncio.sleep(pause)
        try:
            results = await self._ask(index, jobs)
        except ray.exceptions.RayActorError:
            self._away_until[index] = time.monotonic() + AWAY_S
            return []
        return results

    def _free(self) -> int | None:
        """Return the least busy actor that may get a batch; those that died come last."""
        now = time.monotonic()
        best = min(
            range(len(self._actors)),
            key=lambda index: (max(self._away_until[index], now), self._calls[index]),
        )
        return best if self._calls[best] < CALLS_PER_ACTOR else None

    async def _ask(self, index: int, jobs: list[Job]) -> list[ProgramResult]:
        """Return an actor's answer to a batch.

        Ray may forget a call that it takes just when it learns that the actor's node is gone: that
        call neither ends nor fails. Whether the actor is there is therefore asked again and again;
        as it works on one call after another, its answer to that is no news for the first.
        """
        answer: asyncio.Future[list[ProgramResult]]
        answer = asyncio.ensure_future(self._send(index, "run_batch", jobs))
        check: asyncio.Future[Any] | None = None
        try:
            while not (await asyncio.wait({answer}, timeout=CHECK_S))[0]:
                check = asyncio.ensure_future(self._send(index, "isolation"))
                await asyncio.wait({answer, check}, return_when=asyncio.FIRST_COMPLETED)
                if not answer.done():
                    await check
            return await answer
        finally:
            for waiting in filter(None, (answer, check)):
                waiting.cancel()

    def run_many(self, jobs: Iterable[Job]) -> Iterator[ProgramResult]:
        """Yield the results of the jobs as they finish; jobs are taken as actors become free.

        They travel in batches, which grow as long as actors get through them quickly; what an
        actor did not get to goes to the next that is free.
        """
        batches = _Batches(jobs)
        running: dict[Any, tuple[int, list[Job]]] = {}
        free = [index for index in range(len(self._actors)) for _ in range(WAITING_PER_ACTOR)]
        while True:
            while free and (batch := batches.take()):
                index = free.pop(0)
                running[self._send(index, "run_batch", batch)] = index, batch
            if not running:
                return
            (done,), _ = ray.wait(list(running), num_returns=1)
            index, batch = running.pop(done)
            free.append(index)
            results = self._results(done)
            batches.give_back(batch[len(results) :])
            yield from results

    def _results(self, done: Any) -> list[ProgramResult]:
        """Return what came of a batch: nothing, after a pause, if its actor died."""
        try:
            results: list[ProgramResult] = ray.get(done)
        except ray.exceptions.RayActorError:
            time.sleep(AWAY_S / WAITING_PER_ACTOR / len(self._actors))
            return []
        return results

    def _send(self, index: int, method: str, *work: list[Job]) -> Any:
        return getattr(self._actors[index], method).remote(*work)

    def close(self) -> None:
        """End the actors and everything under them."""
        for actor in self._actors:
            ray.kill(actor)

    def __getstate__(self) -> dict[str, Any]:
        # A copy has its own jobs, by its own clock.
        count = len(self._actors)
        own = {"_jobs": [], "_tasks": set(), "_calls": [0] * count, "_away_until": [0.0] * count}
        return self.__dict__ | own

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Batches:
    """Cuts a stream of jobs into batches."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._source = iter(jobs)
        self._returned: list[Job] = []
        self._size = 1

    def take(self) -> list[Job]:
        """The next batch; empty when there is nothing now."""
        batch = self._returned[: self._size]
        del self._returned[: self._size]
        return batch + list(islice(self._source, self._size - len(batch)))

    def give_back(self, rest: list[Job]) -> None:
        """Take back what was not run; if there is none, the next batch may be larger."""
        self._returned += rest
        self._size = max(1, self._size // 2) if rest else min(2 * self._size, LARGEST_BATCH)


def _reason(error: BaseException) -> str:
    """Return the line that says it: Ray puts the actor's traceback before it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if "UserError: " in line]
    return told[-1].partition("UserError: ")[2] if told else (lines or [repr(error)])[-1]
