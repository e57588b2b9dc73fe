import threading

import polars as pl
import pytest

from pipeline.tracking.lines import read_lines
from pipeline.tracking.service import Service
from pipeline.tracking.tracking import Result, Tracking


class Recorder:
    name = "Recorder"

    def __init__(self, fails=(), hangs=()):
        self.fails, self.hangs, self.calls = fails, hangs, []
        self.freed = threading.Event()

    def _call(self, name, *what):
        self.calls.append((name, *what))
        if name in self.hangs:
            self.freed.wait()
        if name in self.fails:
            raise ConnectionError(f"{name} is out\nof order")

    def begin(self, manifest):
        self._call("begin")
        return "opened"

    def live(self, number, figures):
        self._call("live", number)

    def finish(self, metrics, broken):
        self._call("finish")

    def close(self):
        self._call("close")


@pytest.fixture
def follow(tmp_path):
    """Take a run through its calls with a service; return what the user was told."""

    def run(remote, timeout_s=60.0):
        said = []
        tracking = Tracking(tmp_path, Service(remote, timeout_s, said.append), every_s=0.0)
        tracking.begin({})
        tracking.live({"chains_done": 1})
        tracking.live({"chains_done": 2}, True)
        tracking.scored({}, Result({"chains": 2}, pl.DataFrame()))
        tracking.close()
        return said

    return run


def test_a_service_hears_everything_in_order(follow):
    remote = Recorder()
    assert follow(remote) == ["opened"]
    assert remote.calls == [("begin",), ("live", 0), ("live", 1), ("finish",), ("close",)]


@pytest.mark.parametrize("call", ["begin", "live", "finish", "close"])
def test_a_service_that_fails_costs_one_line_and_is_left_alone(call, follow, tmp_path):
    remote = Recorder(fails=[call])
    warnings = [line for line in follow(remote) if line.startswith("warning")]
    assert len(warnings) == 1
    assert f"{call} is out" in warnings[0]
    assert [name for name, *_ in remote.calls].count(call) == 1
    assert len(list(read_lines(tmp_path / "metrics.jsonl"))) == 3


def test_a_service_that_hangs_is_not_waited_for(follow):
    remote = Recorder(hangs=["begin"])
    try:
        said = follow(remote, timeout_s=0.01)
    finally:
        remote.freed.set()
    assert len(said) == 1
    assert "tracking.timeout_s=0.01" in said[0]


def test_live_lines_come_no_more_often_than_asked(tmp_path):
    now = [0.0]
    tracking = Tracking(tmp_path, every_s=10.0, clock=lambda: now[0])
    for seconds in (0, 5, 9, 10, 15):
        now[0] = seconds
        tracking.live({"at": seconds})
    tracking.live({"at": 16}, True)
    assert [row["at"] for row in read_lines(tmp_path / "metrics.jsonl")] == [0, 10, 16]
