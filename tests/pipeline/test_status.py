import json

import pytest

from conf import UserError
from pipeline.runfolder import RunFolder
from pipeline.status import STATUS, Standstill, StandstillError, note_end, noting_status

STANDSTILL = Standstill(
    minutes=5,
    open_rows=3,
    stages={"round 1": {"Generate": 2, "Execute": 1}},
    replicas={"engine": {"RUNNING": 1, "STARTING": 1}, "describer": {}},
)


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path, "chain")


def status_of(folder):
    return json.loads((folder.path / STATUS).read_text())


def status_after(folder, error):
    with pytest.raises(type(error)), noting_status(folder):
        raise error
    return status_of(folder)


def test_a_run_is_running_until_it_has_ended(folder):
    with noting_status(folder):
        assert status_of(folder)["state"] == "running"
        note_end(folder, None)
    assert status_of(folder)["state"] == "finished"


def test_a_run_that_its_budget_stopped_says_so(folder):
    with noting_status(folder):
        note_end(folder, "budget.tokens=9 allowed no more")
    found = status_of(folder)
    assert (found["state"], found["reason"]) == ("stopped", "budget.tokens=9 allowed no more")


def test_a_run_that_stood_still_says_where_its_rows_and_replicas_were(folder):
    found = status_after(folder, StandstillError(STANDSTILL))
    assert found["state"] == "stalled"
    assert found["reason"] == (
        "no row finished a round for stall_minutes=5 while 3 were open (round 1: 2 in Generate, "
        "1 in Execute; engine replicas: 1 RUNNING, 1 STARTING; describer replicas: none); "
        "the same command goes on"
    )
    assert found["standstill"] == {
        "minutes": 5,
        "open_rows": 3,
        "stages": {"round 1": {"Generate": 2, "Execute": 1}},
        "replicas": {"engine": {"RUNNING": 1, "STARTING": 1}, "describer": {}},
    }


@pytest.mark.parametrize(
    ("error", "state", "reason"),
    [
        (UserError("the disk is full"), "failed", "the disk is full"),
        (RuntimeError(), "failed", "RuntimeError()"),
        (KeyboardInterrupt(), "interrupted", "interrupted"),
    ],
)
def test_a_run_that_an_error_ended_says_which(folder, error, state, reason):
    found = status_after(folder, error)
    assert (found["state"], found["reason"]) == (state, reason)


def test_a_status_that_cannot_be_written_does_not_hide_the_error(folder):
    def fill_disk_and_fail():
        with noting_status(folder):
            (folder.path / f".{STATUS}.part").symlink_to("/dev/full")
            raise UserError("the disk is full")

    with pytest.raises(UserError, match="the disk is full"):
        fill_disk_and_fail()


def test_a_finished_run_that_is_asked_for_again_stays_finished(folder):
    note_end(folder, None)
    with noting_status(folder):
        assert status_of(folder)["state"] == "finished"
