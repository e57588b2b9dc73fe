"""Drivers as processes of their own, watched through what they leave on disk, and killed there."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl

from pipeline.journal import read_journal

ROOT = Path(__file__).resolve().parent.parent.parent
DEADLINE_S = 240
POLL_S = 0.05
TIMED = ("asked_at", "seconds", "cpu_s", "attempts")
KEYS = ("chain_id", "step", "role", "test_id")


def start_driver(words, log: Path, address: str) -> subprocess.Popen:
    """Start ``run`` on a running cluster; its output goes to a file."""
    environment = os.environ | {"RAY_ADDRESS": address, "PYTHONPATH": str(ROOT)}
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "pipeline.cli", "run", *words],
            env=environment,
            cwd=log.parent,
            stdout=output,
            stderr=output,
        )


def wait_until(true, driver: subprocess.Popen, log: Path) -> None:
    """Wait until something can be observed while the driver lives."""
    deadline = time.monotonic() + DEADLINE_S
    while not true():
        assert driver.poll() is None, f"the driver ended too early:\n{log.read_text()[-3000:]}"
        assert time.monotonic() < deadline, f"not seen in time:\n{log.read_text()[-3000:]}"
        time.sleep(POLL_S)


def kill(driver: subprocess.Popen) -> None:
    driver.send_signal(signal.SIGKILL)
    driver.wait()


def journal_rows(runs: Path) -> int:
    """How many answers the newest run under a folder has in its journal."""
    folders = sorted(runs.glob("*/journal"))
    return read_journal(folders[-1]).num_rows if folders else 0


def paid_keys(run: Path) -> set[tuple[str, int]]:
    """What the journal of a run has, as the fake engine names it in its log."""
    rows = read_journal(run / "journal").select(["prompt_key", "sample"]).to_pylist()
    return {(row["prompt_key"], row["sample"]) for row in rows}


def answered(log: Path, start: int = 0) -> list[tuple[str, int]]:
    """What the fake engine has answered since a line of its log; its probe left out."""
    lines = log.read_text().splitlines()[start:] if log.exists() else []
    words = [line.split() for line in lines]
    return [(key, int(sample)) for key, sample, name in words if not name.startswith("probe/")]


def lines(log: Path) -> int:
    return len(log.read_text().splitlines()) if log.exists() else 0


def content(run: Path) -> dict[str, pl.DataFrame]:
    """The tables of a run, in the order of their keys, without what says when and how long."""
    found = {}
    for name in ("chains", "steps", "outcomes", "completions"):
        frame = pl.read_parquet(run / name / "*.parquet").drop(TIMED, strict=False)
        found[name] = frame.sort([key for key in KEYS if key in frame.columns])
    return found


def assert_same_tables(one: Path, other: Path) -> None:
    expected = content(other)
    for name, frame in content(one).items():
        assert frame.equals(expected[name]), name
