import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conf import RunConfig, UserError
from serve import (
    Answer,
    Completion,
    EngineClient,
    EngineHandle,
    Failure,
    Prompt,
    Sampling,
    start_engine,
    stop_engine,
)

pytestmark = [pytest.mark.ray, pytest.mark.timeout(300)]

SAMPLING = Sampling(max_tokens=50)


def fake_config(**serve: float) -> RunConfig:
    config = RunConfig()
    config.serve.backend = "fake"
    config.serve.backoff_s = 0.01
    for key, value in serve.items():
        setattr(config.serve, key, value)
    config.engine.cpus_per_replica = 0.2
    return config


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def engine(ray_session: None, logs: Path) -> Iterator[EngineHandle]:
    handle = start_engine(fake_config(), logs)
    yield handle
    stop_engine(handle)


async def ask(handle: EngineHandle, text: str, **limits: float) -> Answer:
    client = EngineClient.open(replace(handle.spec, **limits))  # type: ignore[arg-type]
    return await client.generate("r", Prompt(text=text), SAMPLING)


async def test_an_answer_comes_back_through_a_replica(engine: EngineHandle) -> None:
    answer = await ask(engine, "def twice(x):\n")
    assert isinstance(answer, Completion)
    assert "def twice(x):" in answer.text


async def test_a_refusal_comes_back_as_a_value(engine: EngineHandle) -> None:
    answer = await ask(engine, "word " * 3000)
    assert isinstance(answer, Failure)
    assert answer.kind == "prompt_too_long"


def test_the_replica_says_what_it_is(engine: EngineHandle) -> None:
    assert engine.facts["backend"] == "fake"


def test_a_running_engine_of_the_same_configuration_is_reused(
    engine: EngineHandle, logs: Path
) -> None:
    again = start_engine(fake_config(max_in_flight=7), logs)
    assert again.reused
    assert again.spec.app == engine.spec.app
    assert again.spec.max_in_flight == 7


def test_starting_prints_nothing_and_a_stopped_engine_is_started_anew(
    engine: EngineHandle, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config = fake_config(fake_batch_limit=3)
    for _ in range(2):
        handle = start_engine(config, tmp_path)
        assert not handle.reused
        stop_engine(handle)
    assert capfd.readouterr() == ("", "")
    assert len(list(tmp_path.glob("engine-*.log"))) == 2


async def test_an_engine_that_is_unavailable_is_asked_again(engine: EngineHandle) -> None:
    answer = await ask(engine, "FAKE:fail=2 hello")
    assert isinstance(answer, Completion)
    assert answer.attempts == 3


async def test_requests_of_a_killed_replica_are_answered_by_the_next(
    engine: EngineHandle, tmp_path: Path
) -> None:
    killed = tmp_path / "killed"
    beside = asyncio.create_task(ask(engine, "FAKE:slow=30 beside", request_timeout_s=3600))
    fatal = asyncio.create_task(ask(engine, f"FAKE:die_once={killed} hello"))
    answer = await fatal
    assert killed.exists()
    assert isinstance(answer, Completion)
    assert answer.attempts == 2
    beside.cancel()


async def test_a_request_that_kills_every_replica_becomes_an_error_value(
    engine: EngineHandle,
) -> None:
    answer = await ask(engine, "FAKE:die hello", attempts=2)
    assert isinstance(answer, Failure)
    assert (answer.kind, answer.attempts) == ("engine_error", 2)
    assert "Actor" in answer.message


@pytest.fixture
def narrow_engine(ray_session: None, tmp_path: Path) -> Iterator[EngineHandle]:
    """An engine that takes one request at a time."""
    handle = start_engine(fake_config(fake_batch_limit=1), tmp_path)
    yield handle
    stop_engine(handle)


async def test_a_request_that_timed_out_leaves_its_place_in_the_batch(
    narrow_engine: EngineHandle,
) -> None:
    late = await ask(narrow_engine, "FAKE:slow=3600 late", request_timeout_s=0.5, attempts=1)
    assert isinstance(late, Failure)
    assert isinstance(await ask(narrow_engine, "next"), Completion)


def test_an_engine_that_finds_no_room_says_what_it_asked_for(
    engine: EngineHandle, tmp_path: Path
) -> None:
    config = fake_config(start_timeout_s=1)
    config.engine.cpus_per_replica = 64
    with pytest.raises(UserError, match=r"start_timeout_s=1: .* 64 CPUs .* the cluster has 2 CPUs"):
        start_engine(config, tmp_path)


def test_a_replica_that_cannot_start_says_why(engine: EngineHandle, tmp_path: Path) -> None:
    config = fake_config()
    config.serve.fake_batch_limit = -1
    with pytest.raises(UserError, match="did not start: a batch holds at least one request"):
        start_engine(config, tmp_path)
