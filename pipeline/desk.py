"""The way to the keeper from a process that asks, and the keeper as a Ray actor.

Messages are gathered: while one is under way, and for a short pause after it was sent, the next
ones wait and then go together, so that a busy process sends a few large messages and an idle one
waits for nothing.
"""

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from conf import UserError
from pipeline.journal import Request
from pipeline.keeper import Asker, JournalRun, Keeper, Reply, Tally, Word
from serve.bulk import pause_after
from serve.messages import Completion

T = TypeVar("T")
R = TypeVar("R")
CONCURRENT_CALLS = 10_000
NAMESPACE = "holdtrue"
SHARED_KEEPER = "HOLDTRUE_KEEPER"
"""Environment variable by which a sweep tells its points the name of the keeper that they share."""


class Desk(Protocol):
    """One run's keeper, as one process sees it."""

    async def find(self, request: Request) -> Reply:
        """Return the answer, or PAY, STOP or MISSING; waits while someone else fetches it."""
        ...

    async def store(self, request: Request, answer: Completion) -> None:
        """Keep an answer that was paid for; return when it is on disk."""
        ...

    async def give_up(self, request: Request) -> None:
        """Let others fetch what could not be had."""
        ...


KeeperActor = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(Keeper)


@dataclass(frozen=True)
class KeeperHandle:
    """A keeper that runs, and which run is meant; picklable."""

    actor: Any
    run: JournalRun

    def desk(self, name: str) -> Desk:
        """Return the way to the keeper for one process.

        Args:
            name: which asker of the run it is; a process that replaces it says the same.
        """
        asker = Asker(f"{self.run.journal}#{name}", secrets.token_hex(8))
        return RemoteDesk(self.actor, self.run, asker)

    def tally(self) -> Tally:
        """Return where the run stands."""
        tally: Tally = _get(self.actor.tally.remote(self.run))
        return tally

    async def admit(self, chains: Sequence[str]) -> bool:
        """Return whether the budget lets these chains start; waits while that is open."""
        if not self.is_limited:
            return True
        admitted: bool = await _told(self.actor.admit.remote(self.run, list(chains)))
        return admitted

    def leave(self, chains: Mapping[str, int | None]) -> None:
        """Say which chains came out, and what each cost; null where it was suspended."""
        if self.is_limited:
            _get(self.actor.leave.remote(self.run, dict(chains)))

    @property
    def is_limited(self) -> bool:
        """Whether the run has a budget."""
        return self.run.token_limit is not None or self.run.ends_at is not None

    def close(self) -> None:
        """Say that the run has ended."""
        _get(self.actor.close.remote(self.run))


def start_keeper(name: str | None = None) -> Any:
    """Start a keeper on this node: only the driver's node has to see the run folders.

    Args:
        name: under which other drivers find it while this one lives.
    """
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    options: dict[str, Any] = {
        "scheduling_strategy": here,
        "max_concurrency": CONCURRENT_CALLS,
        **({"name": name, "namespace": NAMESPACE} if name else {}),
    }
    return KeeperActor.options(**options).remote()


@contextmanager
def keeping(run: JournalRun) -> Iterator[KeeperHandle]:
    """Have a keeper for one run while the block runs: its own, or the one of its sweep."""
    if name := os.environ.get(SHARED_KEEPER):
        handle = KeeperHandle(ray.get_actor(name, namespace=NAMESPACE), run)
        try:
            yield handle
        finally:
            handle.close()
        return
    actor = start_keeper()
    try:
        yield KeeperHandle(actor, run)
    finally:
        ray.kill(actor)


class RemoteDesk:
    """A desk that talks to a keeper actor."""

    def __init__(self, actor: Any, run: JournalRun, asker: Asker) -> None:
        self._actor = actor
        self._run = run
        self._asker = asker
        self._found: Gathered[Request, Reply] = Gathered(self._find_all, pause_after)
        self._stored: Gathered[tuple[Request, Completion], None] = Gathered(
            self._store_all, pause_after
        )

    async def find(self, request: Request) -> Reply:
        """See Desk."""
        reply = await self._found.send(request)
        if reply is Word.WAIT:
            reply = await _told(self._actor.wait.remote(self._run, self._asker, request))
        return reply

    async def store(self, request: Request, answer: Completion) -> None:
        """See Desk."""
        await self._stored.send((request, answer))

    async def give_up(self, request: Request) -> None:
        """See Desk."""
        await _told(self._actor.give_up.remote([request]))

    async def _find_all(self, requests: Sequence[Request]) -> list[Reply]:
        replies: list[Reply] = await _told(
            self._actor.find.remote(self._run, self._asker, list(requests))
        )
        return replies

    async def _store_all(self, answers: Sequence[tuple[Request, Completion]]) -> list[None]:
        await _told(self._actor.store.remote(self._run, list(answers)))
        return [None] * len(answers)


@dataclass
class Gathered(Generic[T, R]):
    """Sends items together, one message at a time.

    Args:
        send_all: sends items and returns one result for each.
        pause: shortest time from a message of so many items to the next, in seconds.
    """

    send_all: Callable[[Sequence[T]], Awaitable[list[R]]]
    pause: Callable[[int], float] = lambda _: 0.0
    _not_before: float = 0.0
    _waiting: list[tuple[T, "asyncio.Future[R]"]] = field(default_factory=list)
    _sender: "asyncio.Task[None] | None" = None

    async def send(self, item: T) -> R:
        """Return the result for this item."""
        done: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, done))
        if self._sender is None:
            self._sender = asyncio.create_task(self._send_waiting())
        return await done

    async def _send_waiting(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            if (pause := self._not_before - loop.time()) > 0:
                await asyncio.sleep(pause)
            batch, self._waiting = self._waiting, []
            self._not_before = loop.time() + self.pause(len(batch))
            try:
                results = await self.send_all([item for item, _ in batch])
            except Exception as error:
                for _, done in batch:
                    if not done.done():
                        done.set_exception(error)
            else:
                for (_, done), result in zip(batch, results, strict=True):
                    if not done.done():
                        done.set_result(result)
        self._sender = None


def _get(reference: Any) -> Any:
    try:
        return ray.get(reference)
    except UserError as error:
        raise plain_user_error(error) from None


async def _told(reference: Any) -> Any:
    try:
        return await reference
    except UserError as error:
        raise plain_user_error(error) from None


def plain_user_error(error: BaseException) -> UserError:
    """Return a user's mistake as it was raised: Ray wraps it with the remote traceback."""
    while (cause := getattr(error, "cause", None)) is not None:
        error = cause
    return UserError(str(error))
