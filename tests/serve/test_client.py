import asyncio
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve.client import MAX_BACKOFF_S, ClientSpec, EngineClient
from serve.engine import EngineUnavailable
from serve.messages import Answer, Completion, Failure, Prompt, Sampling

PROMPT = Prompt(text="x")
SAMPLING = Sampling(max_tokens=1)
DONE = Completion("y", "x", 1, 1, "stop", -0.5)

Call = Callable[[str, Prompt, Sampling], Awaitable[Answer]]


def spec(*, max_in_flight: int = 4, attempts: int = 3, timeout_s: float = 60.0) -> ClientSpec:
    return ClientSpec(
        app="a",
        deployment="d",
        max_in_flight=max_in_flight,
        attempts=attempts,
        backoff_s=1.0,
        request_timeout_s=timeout_s,
    )


class Scripted:
    """Does what the script says at each call, then answers."""

    def __init__(self, *script: Exception) -> None:
        self.script = list(script)
        self.names: list[str] = []

    async def __call__(self, request_id: str, prompt: Prompt, sampling: Sampling) -> Answer:
        self.names.append(request_id)
        if self.script:
            raise self.script.pop(0)
        return DONE


class Clock:
    """Records pauses instead of waiting."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


def client(call: Call, clock: Clock | None = None, **limits: float) -> EngineClient:
    return EngineClient(
        call,
        spec(**limits),  # type: ignore[arg-type]  # limits are spec's own keywords
        transient=(ConnectionError,),
        sleep=(clock or Clock()).sleep,
        jitter=lambda: 0.5,
    )


async def ask(one: EngineClient, name: str = "r") -> Answer:
    return await one.generate(name, PROMPT, SAMPLING)


async def test_an_answer_is_returned_as_it_is() -> None:
    assert await ask(client(Scripted())) == DONE


async def test_a_lost_request_is_sent_again_and_counted() -> None:
    answer = await ask(client(Scripted(ConnectionError("replica died"))))
    assert isinstance(answer, Completion)
    assert answer.attempts == 2


async def test_an_unavailable_engine_is_asked_again() -> None:
    answer = await ask(client(Scripted(EngineUnavailable("busy"))))
    assert isinstance(answer, Completion)


async def test_every_try_has_a_name_of_its_own() -> None:
    call = Scripted(ConnectionError(), ConnectionError())
    await ask(client(call), "problem/3")
    assert call.names == ["problem/3", "problem/3#2", "problem/3#3"]


async def test_after_the_last_try_the_error_is_a_value_that_says_why() -> None:
    trouble = [ConnectionError(f"traceback\nreplica {n} died") for n in range(3)]
    answer = await ask(client(Scripted(*trouble)))
    assert answer == Failure("engine_error", "ConnectionError: replica 2 died", attempts=3)


async def test_no_pause_follows_the_last_try() -> None:
    clock = Clock()
    await ask(client(Scripted(*[ConnectionError()] * 3), clock))
    assert clock.pauses == [1.0, 2.0]


@given(jitter=st.floats(0, 1, exclude_max=True), attempts=st.integers(2, 12))
def test_pauses_grow_to_a_limit_and_stay_near_it(jitter: float, attempts: int) -> None:
    clock = Clock()
    one = EngineClient(
        Scripted(*[EngineUnavailable()] * attempts),
        spec(attempts=attempts),
        sleep=clock.sleep,
        jitter=lambda: jitter,
    )
    asyncio.run(ask(one))
    wanted = [min(2.0**n, MAX_BACKOFF_S) * (0.5 + jitter) for n in range(attempts - 1)]
    assert clock.pauses == pytest.approx(wanted)


async def test_a_bug_propagates() -> None:
    with pytest.raises(KeyError):
        await ask(client(Scripted(KeyError("bug"))))


async def test_a_prompt_that_is_too_long_is_not_sent_again() -> None:
    calls = 0

    async def refuse(request_id: str, prompt: Prompt, sampling: Sampling) -> Answer:
        nonlocal calls
        calls += 1
        return Failure("prompt_too_long", "3000 tokens")

    answer = await ask(client(refuse))
    assert answer == Failure("prompt_too_long", "3000 tokens")
    assert calls == 1


async def test_a_request_without_answer_is_cancelled_and_sent_again() -> None:
    cancelled: list[str] = []

    async def stuck_at_first(request_id: str, prompt: Prompt, sampling: Sampling) -> Answer:
        if request_id == "r":
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(request_id)
                raise
        return DONE

    answer = await ask(client(stuck_at_first, timeout_s=0.01))
    assert cancelled == ["r"]
    assert isinstance(answer, Completion)


async def test_time_out_after_the_last_try_says_how_long_was_waited() -> None:
    async def stuck(request_id: str, prompt: Prompt, sampling: Sampling) -> Answer:
        await asyncio.Event().wait()
        return DONE

    answer = await ask(client(stuck, timeout_s=0.01, attempts=2))
    assert answer == Failure("engine_error", "TimeoutError: no answer within 0.01 s", attempts=2)


async def test_no_more_requests_are_in_flight_than_allowed() -> None:
    in_flight, most = 0, 0

    async def count(request_id: str, prompt: Prompt, sampling: Sampling) -> Answer:
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        await asyncio.sleep(0)
        in_flight -= 1
        return DONE

    one = client(count, max_in_flight=3)
    await asyncio.gather(*[ask(one, str(number)) for number in range(20)])
    assert most == 3


async def test_cancelling_a_caller_cancels_its_request() -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def stuck(request_id: str, prompt: Prompt, sampling: Sampling) -> Answer:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return DONE

    task = asyncio.create_task(ask(client(stuck)))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cancelled.is_set()
