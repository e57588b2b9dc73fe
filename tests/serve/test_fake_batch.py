"""The plan of a simulated batch, by a clock of its own."""

import asyncio

import pytest

from serve.fake_batch import FakeBatch


class Clock:
    """Time that passes when everyone sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.asleep: list[tuple[float, asyncio.Future[None]]] = []

    async def sleep(self, seconds: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.asleep.append((self.now + seconds, woken))
        await woken

    async def run_until(self, end: float) -> None:
        """Let everyone act, and whoever is to wake by then."""
        await settle()
        while due := [entry for entry in self.asleep if entry[0] <= end]:
            first = min(due, key=lambda entry: entry[0])
            self.asleep.remove(first)
            self.now = max(self.now, first[0])
            if not first[1].done():
                first[1].set_result(None)
            await settle()
        self.now = end


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def batch(clock: Clock) -> FakeBatch:
    return FakeBatch(2, clock=lambda: clock.now, sleep=clock.sleep)


def start(batch: FakeBatch, clock: Clock, ends: list[float], seconds: float) -> asyncio.Task[None]:
    async def take() -> None:
        await batch.take(seconds)
        ends.append(clock.now)

    return asyncio.create_task(take())


async def test_requests_beyond_the_limit_wait_for_the_first_slot(batch, clock):
    ends: list[float] = []
    tasks = [start(batch, clock, ends, seconds) for seconds in (5, 2, 4, 1)]
    await clock.run_until(200)
    assert ends == [102, 105, 106, 106]
    await asyncio.gather(*tasks)


async def test_only_time_in_which_no_slot_is_free_counts_as_full(batch, clock):
    tasks = [start(batch, clock, [], 3)]
    await clock.run_until(101)
    tasks.append(start(batch, clock, [], 5))
    await clock.run_until(102)
    assert batch.seconds_full() == 1
    await clock.run_until(150)
    assert batch.seconds_full() == 2
    await asyncio.gather(*tasks)


async def test_a_queue_keeps_the_batch_full_without_a_gap(batch, clock):
    tasks = [start(batch, clock, [], 2) for _ in range(6)]
    await clock.run_until(150)
    assert batch.seconds_full() == 6
    await asyncio.gather(*tasks)


async def test_slots_that_are_empty_at_the_same_time_are_so_once(batch, clock):
    tasks = [start(batch, clock, [], 2) for _ in range(2)]
    await settle()
    clock.now = 103  # they end at 102, but nobody has woken them yet
    tasks += [start(batch, clock, [], 2) for _ in range(2)]
    await clock.run_until(103)
    await clock.run_until(104)
    assert batch.seconds_full() == 3
    await clock.run_until(150)
    assert batch.seconds_full() == 4
    await asyncio.gather(*tasks)


async def test_a_request_that_is_given_up_leaves_its_slot(batch, clock):
    ends: list[float] = []
    given_up = start(batch, clock, ends, 90)
    other = start(batch, clock, ends, 90)
    await clock.run_until(101)
    given_up.cancel()
    await settle()
    late = start(batch, clock, ends, 1)
    await clock.run_until(103)
    assert ends == [102]
    await clock.run_until(200)
    await asyncio.gather(other, late)


async def test_a_request_that_is_given_up_in_the_queue_takes_no_slot(batch, clock):
    ends: list[float] = []
    running = [start(batch, clock, ends, 10) for _ in range(2)]
    queued = start(batch, clock, ends, 50)
    await clock.run_until(101)
    queued.cancel()
    await settle()
    late = start(batch, clock, ends, 1)
    await clock.run_until(200)
    assert sorted(ends) == [110, 110, 111]
    await asyncio.gather(*running, late)
