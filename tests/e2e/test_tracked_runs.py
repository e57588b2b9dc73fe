"""Tracked runs on real Ray, Ray Serve, sandbox and wandb, with the fake engine and no network."""

import json
import socket

import pytest
from runs import PROBLEMS, only_run, write_problems

from pipeline.run import run
from pipeline.tracking.lines import read_lines

pytestmark = [pytest.mark.ray, pytest.mark.timeout(300)]


@pytest.fixture
def words(ray_session, tmp_path, monkeypatch):
    """The words of a small run whose folder lies under tmp_path/runs; no W&B account."""
    for name in ("WANDB_API_KEY", "WANDB_MODE", "WANDB_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("NETRC", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR", "WANDB_CACHE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))

    def make(*more):
        data = write_problems(tmp_path / "data.jsonl")
        places = [f"dataset.path={data}", f"runs_dir={tmp_path / 'runs'}"]
        return ["serve=fake", "chain.length=1", *places, *more]

    return make


def test_figures_by_time_and_the_scores_are_always_written(words, tmp_path):
    assert run(words("tracking=none")) == 0
    folder = only_run(tmp_path / "runs")
    lines = list(read_lines(folder / "metrics.jsonl"))
    *live, scores = lines
    assert live[-1]["chains_done"] == live[-1]["chains"] == len(PROBLEMS)
    assert live[-1]["steps_done/0"] == len(PROBLEMS)
    assert {"scores/sc_1", "scores/sc_1/low", "scores/sc_1/high"} <= scores.keys()
    events = [row["event"] for row in read_lines(folder / "events.jsonl")]
    assert events == ["started", "scored", "ended"]
    assert not (folder / "wandb").exists()


def test_wandb_works_without_a_key_and_every_start_continues_one_run(words, tmp_path, capfd):
    assert run(words("tracking=wandb", "tracking.group=a_sweep")) == 0
    folder = only_run(tmp_path / "runs")
    name = json.loads((folder / "tracking.json").read_text())["wandb"]
    assert "wandb sync" in capfd.readouterr().out
    assert run([f"resume={folder}"]) == 0
    starts = sorted((folder / "wandb").glob("offline-run-*"))
    assert len(starts) == 2
    written = [(start / f"run-{name}.wandb").read_bytes() for start in starts]
    for content in written:
        assert b"a_sweep" in content
        assert b"dataset_digest" in content


def test_no_prompt_and_no_completion_reaches_wandb(words, tmp_path):
    assert run(words("tracking=wandb")) == 0
    folder = only_run(tmp_path / "runs")
    content = b"".join(path.read_bytes() for path in folder.glob("wandb/**/*") if path.is_file())
    assert b"shard-000000.parquet" in content
    texts = ["plus one.", "def increment", "def func", "generate_user"]
    assert [text for text in texts if text.encode() in content] == []


def test_a_server_that_nobody_reaches_costs_one_warning(words, tmp_path, capfd, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    monkeypatch.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{port}")
    assert run(words("tracking=wandb", "tracking.mode=online", "tracking.timeout_s=5")) == 0
    told = capfd.readouterr().out
    assert told.count("warning: W&B is left out") == 1
    assert "Pass@1" in told
