"""Requests and answers that travel together, without Ray."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from serve.bulk import Ask, BulkAnswers, BulkCaller, EngineFault, Reply
from serve.engine import EngineUnavailable
from serve.messages import Answer, Completion, Prompt, Sampling

SAMPLING = Sampling(max_tokens=5)


def completion(text: str) -> Completion:
    return Completion(text, text, 1, 1, "stop", None)


class Held:
    """An engine whose answers come when they are let through."""

    def __init__(self) -> None:
        self.gates: dict[str, asyncio.Event] = {}

    async def generate(self, name: str, prompt: Prompt, sampling: Sampling) -> Answer:
        await self.gates.setdefault(name, asyncio.Event()).wait()
        return completion(name)

    def let(self, *names: str) -> None:
        for name in names:
            self.gates.setdefault(name, asyncio.Event()).set()


class Line:
    """Stands for Ray Serve in front of one replica; counts the calls, and can break."""

    def __init__(self, engine: Held) -> None:
        self.replica = BulkAnswers(engine.generate)
        self.sent: list[list[str]] = []
        self.broken = asyncio.Event()

    async def stream(self, client: str, asks: Sequence[Ask]) -> AsyncIterator[list[Reply]]:
        self.sent.append([ask.request_id for ask in asks])
        replies = self.replica.answer(client, asks)
        broken = asyncio.ensure_future(self.broken.wait())
        while True:
            following = asyncio.ensure_future(anext(replies, None))
            await asyncio.wait([following, broken], return_when=asyncio.FIRST_COMPLETED)
            if broken.done():
                following.cancel()
                raise EngineUnavailable("the replica is gone")
            found = following.result()
            if found is None:
                broken.cancel()
                return
            yield found


def ask(caller: BulkCaller, name: str) -> "asyncio.Task[Answer]":
    return asyncio.create_task(caller.call(name, Prompt(text=name), SAMPLING))


async def test_requests_of_one_moment_go_in_one_message() -> None:
    engine = Held()
    engine.let("a", "b", "c")
    line = Line(engine)
    caller = BulkCaller(line.stream, limit_s=60)
    answers = await asyncio.gather(*(ask(caller, name) for name in "abc"))
    assert answers == [completion(name) for name in "abc"]
    assert line.sent == [["a", "b", "c"]]


async def test_a_slow_answer_holds_no_other() -> None:
    engine = Held()
    line = Line(engine)
    caller = BulkCaller(line.stream, limit_s=60)
    slow, quick = ask(caller, "slow"), ask(caller, "quick")
    engine.let("quick")
    assert await quick == completion("quick")
    assert not slow.done()
    later = ask(caller, "later")
    engine.let("later")
    assert await later == completion("later")
    assert not slow.done()
    engine.let("slow")
    assert await slow == completion("slow")


async def test_answers_that_another_call_carries_are_lost_with_it() -> None:
    engine = Held()
    line = Line(engine)
    caller = BulkCaller(line.stream, limit_s=60)
    first = ask(caller, "first")
    while not line.sent:
        await asyncio.sleep(0)
    second = ask(caller, "second")
    while len(line.sent) < 2:
        await asyncio.sleep(0.01)
    line.broken.set()
    for lost in (first, second):
        with pytest.raises(EngineUnavailable):
            await lost


async def test_a_request_that_takes_too_long_is_given_up_where_it_runs() -> None:
    cancelled = asyncio.Event()

    async def stuck(name: str, prompt: Prompt, sampling: Sampling) -> Answer:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError

    replies = BulkAnswers(stuck).answer("c", [Ask("r", Prompt(text="r"), SAMPLING, 0.01)])
    ((name, reply),) = await anext(replies)
    assert (name, type(reply)) == ("r", TimeoutError)
    assert cancelled.is_set()


async def test_a_bug_of_an_engine_comes_back_with_its_traceback() -> None:
    async def broken(name: str, prompt: Prompt, sampling: Sampling) -> Answer:
        raise KeyError("nonsense")

    replies = BulkAnswers(broken).answer("c", [Ask("r", Prompt(text="r"), SAMPLING, 60)])
    ((_, reply),) = await anext(replies)
    assert isinstance(reply, EngineFault)
    assert "KeyError: 'nonsense'" in str(reply)
