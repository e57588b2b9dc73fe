"""Many requests in one message, and many answers in one. Knows nothing of Ray.

A call costs Ray and its Serve about a millisecond of CPU on each side, whatever it carries, so a
busy client's requests go together, and so do the answers that are ready. Nobody waits for another:
an answer leaves when it is there, and what keeps a message back is a pause since the one before.

Of a client's calls to one replica one carries the answers of all. The others only last as long as
their own requests do, so that whoever spreads calls over replicas sees where work is.
"""

import asyncio
import secrets
import traceback
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TypeAlias

from serve.engine import Call, EngineUnavailable
from serve.messages import Answer, Prompt, Sampling

PAUSE_S = 0.05
LONGEST_PAUSE_S = 0.4
"""Between two messages of one client, or to it: short beside the time of a real answer."""
PAUSE_PER_ITEM_S = 0.03

MOST_AT_ONCE = 16
"""Requests in a message; more go as several, to several replicas."""


def pause_after(items: int) -> float:
    """Return the seconds from a message of so many items to the next: the busier, the longer."""
    return min(LONGEST_PAUSE_S, PAUSE_S + PAUSE_PER_ITEM_S * items)


@dataclass(frozen=True, slots=True)
class Ask:
    """One request of a message."""

    request_id: str
    prompt: Prompt
    sampling: Sampling
    limit_s: float
    """After which its client has given it up."""


Reply: TypeAlias = tuple[str, Answer | Exception]
"""The name of a request, and what came of it."""

Stream: TypeAlias = Callable[[str, Sequence[Ask]], AsyncIterator[list[Reply]]]
"""Sends requests of a client, named first, to some replica; yields replies to it."""


class EngineFault(Exception):
    """An engine raised what it must not: a bug, with the traceback as its message."""


@dataclass
class _Outbox:
    """What one client has coming from a replica."""

    ready: list[Reply] = field(default_factory=list)
    coming: int = 0
    is_carried: bool = False
    """Whether one of the client's calls carries the answers of all."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, reply: Reply) -> None:
        self.ready.append(reply)
        self.changed.set()

    async def carried(self) -> AsyncGenerator[list[Reply], None]:
        """Yield what is ready, time and again, until nothing more is coming."""
        self.is_carried = True
        try:
            while self.coming or self.ready:
                if not self.ready:
                    self.changed.clear()
                    await self.changed.wait()
                    continue
                replies, self.ready = self.ready, []
                yield replies
                await asyncio.sleep(pause_after(len(replies)))
        finally:
            self.is_carried = False


class BulkAnswers:
    """The replica's side.

    Args:
        generate: has the engine answer one request.
    """

    def __init__(self, generate: Call) -> None:
        self._generate = generate
        self._boxes: dict[str, _Outbox] = {}

    async def answer(self, client: str, asks: Sequence[Ask]) -> AsyncIterator[list[Reply]]:
        """Answer requests; yield the client's replies, or let its earlier call do so."""
        box = self._boxes.setdefault(client, _Outbox())
        box.coming += len(asks)
        tasks = [asyncio.create_task(self._answer(box, ask)) for ask in asks]
        try:
            if box.is_carried:
                await asyncio.wait(tasks)
                return
            async with aclosing(box.carried()) as carried:
                async for replies in carried:
                    yield replies
        finally:
            for task in tasks:
                task.cancel()
            if not box.is_carried and not box.coming:
                self._boxes.pop(client, None)

    async def _answer(self, box: _Outbox, ask: Ask) -> None:
        reply: Answer | Exception | None = None
        try:
            call = self._generate(ask.request_id, ask.prompt, ask.sampling)
            reply = await asyncio.wait_for(call, ask.limit_s)
        except (EngineUnavailable, TimeoutError) as error:
            reply = error
        except Exception:
            reply = EngineFault(traceback.format_exc())
        finally:
            box.coming -= 1
            if reply is not None:
                box.put((ask.request_id, reply))
            box.changed.set()


class BulkCaller:
    """The client's side, for one event loop: gathers requests and hands out the replies.

    Args:
        stream: reaches a replica.
        limit_s: seconds after which a request is given up.
    """

    def __init__(self, stream: Stream, limit_s: float) -> None:
        self._stream = stream
        self._limit_s = limit_s
        self._client = secrets.token_hex(8)
        self._pending: dict[str, asyncio.Future[Answer]] = {}
        self._adrift: set[str] = set()
        """Pending ones whose own call has ended: another call is carrying their answers."""
        self._waiting: list[Ask] = []
        self._sender: asyncio.Task[None] | None = None
        self._calls: set[asyncio.Task[None]] = set()
        self._not_before = 0.0

    async def call(self, request_id: str, prompt: Prompt, sampling: Sampling) -> Answer:
        """Return the engine's answer to one request; see ``serve.engine.Call``."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._pending[request_id] = future
        self._waiting.append(Ask(request_id, prompt, sampling, self._limit_s))
        if self._sender is None:
            self._sender = asyncio.create_task(self._send_waiting())
        try:
            return await future
        finally:
            self._pending.pop(request_id, None)
            self._adrift.discard(request_id)

    async def _send_waiting(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            if (pause := self._not_before - loop.time()) > 0:
                await asyncio.sleep(pause)
            self._not_before = loop.time() + pause_after(len(self._waiting))
            asks = [ask for ask in self._waiting if ask.request_id in self._pending]
            self._waiting = []
            for start in range(0, len(asks), MOST_AT_ONCE):
                call = asyncio.create_task(self._receive(asks[start : start + MOST_AT_ONCE]))
                self._calls.add(call)
                call.add_done_callback(self._calls.discard)
        self._sender = None

    async def _receive(self, asks: Sequence[Ask]) -> None:
        names = [ask.request_id for ask in asks]
        try:
            async for replies in self._stream(self._client, asks):
                for name, reply in replies:
                    self._settle(name, reply)
        except Exception as error:
            self._fail([*names, *self._adrift], error)
        else:
            self._adrift.update(name for name in names if name in self._pending)

    def _fail(self, names: Iterable[str], error: Exception) -> None:
        """What the lost call was to carry is lost too; each is asked again by whoever waits."""
        for name in names:
            self._settle(name, error)
        self._adrift.clear()

    def _settle(self, name: str, reply: Answer | Exception) -> None:
        future = self._pending.get(name)
        if future is None or future.done():
            return
        if isinstance(reply, Exception):
            future.set_exception(reply)
        else:
            future.set_result(reply)
