import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from desks import ANSWER, CountingEngine, LocalDesk, open_client

from pipeline.admission import FIRST
from pipeline.journal import Request, read_journal
from pipeline.keeper import JournalRun, Keeper, Word
from pipeline.stages.base import Suspended
from serve import Failure, Prompt, Sampling

GREEDY = Sampling(max_tokens=8)


@pytest.fixture
def new_run(tmp_path):
    def make(name="run", **facts):
        journal = tmp_path / name
        journal.mkdir(exist_ok=True)
        return JournalRun(str(journal), **facts)

    return make


def request(prompt="p"):
    return Request.of("m", "name", Prompt(text=prompt), GREEDY)


def generate(client, *prompts, name="a", sampling=GREEDY):
    async def act():
        return [await client.generate(name, Prompt(text=text), sampling) for text in prompts]

    return asyncio.run(act())


class HeldEngine(CountingEngine):
    """Answers when it is released."""

    def __init__(self, answer=ANSWER):
        super().__init__(answer)
        self.was_asked, self.released = asyncio.Event(), asyncio.Event()

    async def generate(self, request_id, prompt, sampling):
        self.was_asked.set()
        await self.released.wait()
        return await super().generate(request_id, prompt, sampling)


def test_a_request_is_paid_once(new_run):
    engine = CountingEngine()
    assert generate(open_client(engine, new_run()), "p", "p") == [ANSWER, ANSWER]
    assert len(engine.asked) == 1


def test_the_same_request_under_another_name_is_not_paid_again(new_run):
    engine, keeper, run = CountingEngine(), Keeper(), new_run()
    generate(open_client(engine, run, keeper=keeper), "p", name="a/0/0/generate")
    generate(open_client(engine, run, keeper=keeper), "p", name="b/0/2/generate")
    assert engine.asked == ["a/0/0/generate"]


def test_another_draw_of_the_same_request_is_paid(new_run):
    engine = CountingEngine()
    client = open_client(engine, new_run())
    generate(client, "p")
    generate(client, "p", sampling=replace(GREEDY, sample=1))
    assert len(engine.asked) == 2


def test_the_next_start_pays_only_for_what_is_not_there(new_run):
    generate(open_client(CountingEngine(), new_run()), "a", "b")
    engine = CountingEngine()
    assert generate(open_client(engine, new_run()), "a", "b", "c") == [ANSWER] * 3
    assert len(engine.asked) == 1


def test_a_failure_is_no_answer(new_run):
    failure = Failure("engine_error", "lost")
    assert generate(open_client(CountingEngine(failure), new_run()), "a") == [failure]
    assert generate(open_client(CountingEngine(), new_run()), "a") == [ANSWER]


async def test_two_that_need_the_same_at_once_pay_once(new_run):
    engine, keeper = HeldEngine(), Keeper()
    clients = [open_client(engine, new_run(), keeper=keeper, name=f"round {n}") for n in (1, 2)]
    asking = [asyncio.create_task(c.generate("a", Prompt(text="p"), GREEDY)) for c in clients]
    await engine.was_asked.wait()
    engine.released.set()
    assert await asyncio.gather(*asking) == [ANSWER, ANSWER]
    assert len(engine.asked) == 1


async def test_who_waited_for_a_failure_asks_for_itself(new_run):
    engine, keeper = HeldEngine(Failure("engine_error", "lost")), Keeper()
    clients = [open_client(engine, new_run(), keeper=keeper, name=f"round {n}") for n in (1, 2)]
    asking = [asyncio.create_task(c.generate("a", Prompt(text="p"), GREEDY)) for c in clients]
    await engine.was_asked.wait()
    engine.released.set()
    await asyncio.gather(*asking)
    assert len(engine.asked) == 2


async def test_a_process_that_replaces_a_dead_one_need_not_wait_for_it(new_run):
    keeper, run = Keeper(), new_run()
    dead = LocalDesk(keeper, run, process="1")
    assert await dead.find(request()) is Word.PAY
    replacement = LocalDesk(keeper, run, process="2")
    assert await replacement.find(request()) is Word.PAY


async def test_a_run_that_has_ended_keeps_nobody_waiting(new_run):
    keeper, ended, other = Keeper(), new_run("ended"), new_run("other")
    assert await LocalDesk(keeper, ended, "ended").find(request()) is Word.PAY
    waiting = asyncio.create_task(LocalDesk(keeper, other, "other").find(request()))
    await asyncio.sleep(0)
    await keeper.close(ended)
    assert await waiting is Word.PAY


def test_runs_of_one_keeper_share_an_answer_and_each_keeps_a_copy(new_run):
    engine, keeper, first, second = CountingEngine(), Keeper(), new_run("1"), new_run("2")
    for run in (first, second):
        generate(open_client(engine, run, keeper=keeper), "p")
    assert len(engine.asked) == 1
    assert read_journal(Path(first.journal))["paid"].to_pylist() == [True]
    assert read_journal(Path(second.journal))["paid"].to_pylist() == [False]


def test_a_replay_answers_from_its_source_and_needs_it_once(new_run):
    source = new_run("source")
    generate(open_client(CountingEngine(), source), "p")
    replay = new_run("replay", sources=(source.journal,), pays=False)
    assert generate(open_client(None, replay), "p", name="renamed") == [ANSWER]
    assert generate(open_client(None, replace(replay, sources=())), "p") == [ANSWER]


def test_a_request_that_a_replay_lacks_is_an_outcome(new_run):
    (answer,) = generate(open_client(None, new_run(pays=False)), "p")
    assert answer.kind == "not_recorded"


def test_a_spent_run_asks_nothing_more_and_still_answers_what_it_has(new_run):
    client = open_client(CountingEngine(), new_run(token_limit=5))
    assert generate(client, "p", "p") == [ANSWER, ANSWER]
    with pytest.raises(Suspended):
        generate(client, "q")


def test_tokens_of_earlier_starts_count(new_run):
    generate(open_client(CountingEngine(), new_run()), "p")
    with pytest.raises(Suspended):
        generate(open_client(CountingEngine(), new_run(token_limit=5)), "q")


async def test_a_run_whose_time_is_over_asks_nothing_more(new_run):
    assert await LocalDesk(Keeper(), new_run(ends_at=0.0)).find(request()) is Word.STOP


async def test_a_chain_waits_until_another_has_left(new_run):
    keeper, run = Keeper(), new_run(token_limit=100)
    first = [str(n) for n in range(FIRST)]
    assert await keeper.admit(run, first)
    waiting = asyncio.create_task(keeper.admit(run, ["late"]))
    await keeper.leave(run, dict.fromkeys(first, 5))
    assert await waiting


async def test_no_chain_starts_after_one_was_suspended(new_run):
    keeper, run = Keeper(), new_run(token_limit=100)
    await keeper.admit(run, ["a"])
    await keeper.leave(run, {"a": None})
    assert not await keeper.admit(run, ["b"])


def test_the_tally_counts_what_was_paid_and_nothing_else(new_run):
    keeper, first, second = Keeper(), new_run("1"), new_run("2")
    for run in (first, second):
        generate(open_client(CountingEngine(), run, keeper=keeper), "p")
    tallies = [asyncio.run(keeper.tally(run)) for run in (first, second)]
    assert [(t.answers, t.paid, t.tokens) for t in tallies] == [(1, 1, 5), (1, 0, 0)]
