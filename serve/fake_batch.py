"""The time that a simulated engine takes: a batch of so many requests, the rest in a queue.

Times are planned, not measured: a request begins when the one before it in its slot ends by the
plan, or when it comes if that is later. So what else the event loop does never makes the engine
slower than it is said to be, and no slot is empty because its next request has yet to wake.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable


class FakeBatch:
    """Lets requests take their time, a bounded number at once, in the order in which they come.

    Args:
        limit: requests of a full batch.
        clock: returns seconds.
        sleep: waits; takes seconds.

    Raises:
        ValueError: nothing fits into the batch.
    """

    def __init__(
        self,
        limit: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if limit < 1:
            raise ValueError(f"a batch holds at least one request, not {limit}")
        self._clock = clock
        self._sleep = sleep
        self._free = limit
        self._queue: deque[tuple[float, asyncio.Future[float]]] = deque()
        self._full_since = self._empty_until = clock()
        self._full_s = 0.0

    async def take(self, seconds: float) -> None:
        """Wait for a slot and be in the batch for so long; a request that is given up leaves it."""
        end = await self._slot() + seconds
        try:
            await self._sleep(max(0.0, end - self._clock()))
        except asyncio.CancelledError:
            end = min(end, self._clock())
            raise
        finally:
            self._hand_over(end)

    def seconds_full(self) -> float:
        """Return for how long the batch has been full so far."""
        going_on = 0.0 if self._free else max(0.0, self._clock() - self._full_since)
        return self._full_s + going_on

    async def _slot(self) -> float:
        """Return when the request begins, once there is a slot for it."""
        now = self._clock()
        if self._free:
            self._free -= 1
            if not self._free:
                self._full_since = now
            return now
        turn: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._queue.append((now, turn))
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._hand_over(turn.result())
            raise

    def _hand_over(self, end: float) -> None:
        """Give a slot that is free from then on to whoever has waited longest."""
        while self._queue:
            came, turn = self._queue.popleft()
            if not turn.done():
                start = max(end, came)
                self._note_empty(end, start)
                turn.set_result(start)
                return
        if not self._free:
            self._full_s += max(0.0, end - self._full_since)
        self._free += 1

    def _note_empty(self, start: float, end: float) -> None:
        """Take back that the batch was full while a slot was empty by the plan.

        Several slots may be empty at the same time, which counts once.
        """
        start = max(start, self._full_since, self._empty_until)
        if end > start:
            self._full_s -= end - start
            self._empty_until = end
