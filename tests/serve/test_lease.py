"""Who may stop an engine that several drivers use, on the session's Ray."""

from pathlib import Path

import pytest

from conf import RunConfig
from serve import EngineHandle, leave_engine, start_engine, stop_engine

pytestmark = [pytest.mark.ray, pytest.mark.timeout(300), pytest.mark.usefixtures("ray_session")]


@pytest.fixture
def start(tmp_path: Path):
    """Start the same engine as often as is asked."""

    def start_one(*, joined: bool) -> EngineHandle:
        config = RunConfig()
        config.serve.backend = "fake"
        config.engine.cpus_per_replica = 0.2
        return start_engine(config, tmp_path, joined=joined)

    return start_one


def is_there(engine: EngineHandle) -> bool:
    from ray import serve as ray_serve

    return engine.spec.app in ray_serve.status().applications


def test_an_engine_goes_with_the_last_that_uses_it(start) -> None:
    first, second = start(joined=True), start(joined=True)
    assert (first.reused, second.reused) == (False, True)
    leave_engine(first)
    assert is_there(second)
    leave_engine(second)
    assert not is_there(second)


def test_an_engine_can_be_started_again_after_it_has_gone(start) -> None:
    for _ in range(2):
        engine = start(joined=True)
        assert not engine.reused
        leave_engine(engine)


def test_an_engine_that_was_started_without_a_lease_is_left_running(start) -> None:
    owner = start_unleased(start)
    guest = start(joined=True)
    leave_engine(guest)
    assert is_there(owner)
    stop_engine(owner)


def start_unleased(start) -> EngineHandle:
    """Start an engine as a process does that knows of no other driver."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("serve.lease._find_caretaker", lambda: None)
        return start(joined=False)
