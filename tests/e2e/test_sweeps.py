"""Sweeps on real Ray, Ray Serve and sandbox, each point a process, with the fake engine."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest
import ray
from runs import PROBLEMS, broken_gold, only_run, table, write_problems

from pipeline.journal import read_answers
from pipeline.sweep import engines, sweep

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600)]


@pytest.fixture
def words(ray_session, tmp_path):
    """The words of a small sweep whose folder lies under tmp_path/runs."""

    def make(*more):
        data = write_problems(tmp_path / "data.jsonl")
        places = [f"dataset.path={data}", f"runs_dir={tmp_path / 'runs'}"]
        return ["-m", "serve=fake", *places, *more]

    return make


def results_of(folder: Path):
    return json.loads((folder / "results.json").read_text())["points"]


def chains_of(folder: Path, point):
    return sorted(table(folder / point["run"], "chains")["chain_id"])


def answers_of(folder: Path, name: str = "*"):
    journals = folder.glob(f"*-{name}/journal")
    return [answer for journal in journals for answer in read_answers(journal)]


def requests_of(folder: Path, name: str) -> set[bytes]:
    return {answer.request.key() for answer in answers_of(folder, name)}


def times_paid(folder: Path) -> set[int]:
    """Return how often the sweep's requests were paid for."""
    paid = Counter(answer.request.key() for answer in answers_of(folder) if answer.paid)
    return {paid[key] for key in requests_of(folder, "*")}


def await_file(pattern: str, place: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait until a process has made a file of this pattern."""
    while not any(place.glob(pattern)):
        assert process.poll() is None, f"the sweep ended before there was {pattern}"
        threading.Event().wait(0.1)


ALL_CHAINS = sorted(f"{problem['problem_id']}/0" for problem in PROBLEMS)


def test_points_share_one_engine_and_one_that_fails_ends_no_other(
    words, tmp_path, capfd, monkeypatch
):
    bad = write_problems(tmp_path / "bad.jsonl", [broken_gold()])
    started = []

    def start(config, logs, **how):
        started.append(config.model.label)
        return actual(config, logs, **how)

    actual = engines.start_engine
    monkeypatch.setattr(engines, "start_engine", start)
    sources = f"dataset.path={tmp_path / 'data.jsonl'},{bad}"
    assert sweep(words("chain.length=1", sources)) == 1
    folder = only_run(tmp_path / "runs")
    points = results_of(folder)
    assert len(started) == 1
    good, failed = points
    assert chains_of(folder, good) == ALL_CHAINS
    assert failed["metrics"] is None
    assert "no problem is left" in failed["failure"]
    shown = capfd.readouterr().out
    assert shown.count("not finished") == 1
    assert f"resume={folder}" in shown


def test_a_sweep_that_was_killed_goes_on_by_the_same_words(words, tmp_path, monkeypatch):
    # One point after another, so that one is finished and one is not when the kill comes.
    line = words("chain.length=1,2", "cluster.points_at_once=1")
    address = ray.get_runtime_context().gcs_address
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "pipeline.cli", "run", *line],
        env=os.environ | {"RAY_ADDRESS": address},
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    await_file("runs/*/*-01-2/manifest.json", tmp_path, process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    folder = only_run(tmp_path / "runs")
    first = sorted(folder.glob("*-00-1/chains/*"))
    stamps = [path.stat().st_mtime_ns for path in first]
    assert sweep(line) == 0
    assert only_run(tmp_path / "runs") == folder
    assert [path.stat().st_mtime_ns for path in sorted(folder.glob("*-00-1/chains/*"))] == stamps
    for point in results_of(folder):
        assert chains_of(folder, point) == ALL_CHAINS
    assert times_paid(folder) == {1}
    assert requests_of(folder, "00-1") <= requests_of(folder, "01-2")
