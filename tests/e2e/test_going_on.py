"""Runs that are stopped and go on, and runs that are replayed, with the fake engine."""

import json

import polars as pl
import pytest
from runs import PROBLEMS, only_run, table, write_problems

from conf import UserError
from pipeline import chain
from pipeline.journal import read_journal
from pipeline.run import run

pytestmark = [pytest.mark.ray, pytest.mark.timeout(300)]


@pytest.fixture
def words(ray_session, tmp_path):
    """The words of a small run whose folder lies under tmp_path/runs, whose engine keeps a log."""

    def make(*more):
        data = write_problems(tmp_path / "data.jsonl")
        return [
            "serve=fake",
            f"serve.fake_log={tmp_path / 'asked'}",
            f"dataset.path={data}",
            f"runs_dir={tmp_path / 'runs'}",
            "chain.length=2",
            "cluster.rows_per_block=1",
            *more,
        ]

    return make


@pytest.fixture
def asked(tmp_path):
    """How many of the run's requests the engine has answered, the manifest's probe left out."""

    def count():
        lines = (tmp_path / "asked").read_text().splitlines()
        return sum(" probe/" not in line for line in lines)

    return count


def content(folder):
    """The tables of a run without what says when and how long."""
    timed = ("asked_at", "seconds", "cpu_s")
    keys = ("chain_id", "step", "role", "test_id")
    found = {}
    for name in ("chains", "steps", "outcomes", "completions"):
        frame = table(folder, name).drop(timed, strict=False)
        found[name] = frame.sort([key for key in keys if key in frame.columns])
    return found


def assert_same_tables(one, other):
    for name, frame in content(one).items():
        assert frame.equals(content(other)[name]), name


def test_the_same_command_goes_on_with_the_run_that_was_not_finished(
    words, tmp_path, asked, capfd, monkeypatch
):
    counted = chain._count

    def interrupt(progress, chains):
        counted(progress, chains)
        raise KeyboardInterrupt

    monkeypatch.setattr(chain, "_count", interrupt)
    assert run(words()) == 130
    monkeypatch.undo()
    assert run(words()) == 0
    folder = only_run(tmp_path / "runs")
    assert "going on with" in capfd.readouterr().out
    assert asked() == read_journal(folder / "journal").num_rows
    assert table(folder, "chains").height == len(PROBLEMS)

    assert run(words()) == 0
    assert len(list((tmp_path / "runs").iterdir())) == 2


def test_a_budget_leaves_a_marked_partial_result_and_a_higher_one_goes_on(
    words, tmp_path, asked, capfd
):
    assert run(words("budget.tokens=150")) == 0
    folder = only_run(tmp_path / "runs")
    metrics = json.loads((folder / "metrics.json").read_text())
    spent = read_journal(folder / "journal")
    assert "budget.tokens=150" in metrics["partial"]["reason"]
    partial = metrics["partial"]
    assert metrics["chains"] + partial["cut_off"] + partial["not_begun"] == len(PROBLEMS)
    assert partial["cut_off"] > 0
    assert "PARTIAL RESULT" in capfd.readouterr().out

    assert run(words("budget.tokens=1000000")) == 0
    assert only_run(tmp_path / "runs") == folder
    assert json.loads((folder / "metrics.json").read_text())["partial"] is None
    assert table(folder, "chains").height == len(PROBLEMS)
    assert asked() == read_journal(folder / "journal").num_rows > spent.num_rows


def test_every_chain_that_a_budget_lets_begin_ends(ray_session, tmp_path):
    problems = [{**PROBLEMS[n % 3], "problem_id": f"toy/{n:02d}"} for n in range(30)]
    for n, problem in enumerate(problems):
        problem["prompt"] = problem["prompt"].replace("Return", f"Variant {n}. Return")
    data = write_problems(tmp_path / "data.jsonl", problems)
    words = ["serve=fake", f"dataset.path={data}", f"runs_dir={tmp_path / 'runs'}"]
    more = ["dataset.limit=null", "chain.length=1", "budget.tokens=1500"]
    assert run([*words, *more]) == 0
    metrics = json.loads((only_run(tmp_path / "runs") / "metrics.json").read_text())
    assert 8 <= metrics["chains"] < 30
    assert metrics["partial"]["cut_off"] == 0


def test_a_replay_makes_the_same_tables_without_an_engine(words, tmp_path, asked):
    assert run(words()) == 0
    source = only_run(tmp_path / "runs")
    before = asked()
    replays = tmp_path / "replays"
    assert run(["serve=replay", f"serve.replay_from={source}", f"runs_dir={replays}"]) == 0
    assert asked() == before
    assert_same_tables(only_run(replays), source)


def test_what_a_replay_lacks_is_an_outcome_of_its_chain(words, tmp_path):
    assert run(words("chain.length=1")) == 0
    source = only_run(tmp_path / "runs")
    more = ["chain.length=3", f"runs_dir={tmp_path / 'replays'}"]
    assert run(["serve=replay", f"serve.replay_from={source}", *more]) == 0
    chains = table(only_run(tmp_path / "replays"), "chains")
    lacking = chains.filter(pl.col("stop_reason") == "not_recorded")
    assert lacking.height > 0
    assert set(lacking["stop_step"]) == {2}


def test_a_replay_of_nothing_is_refused(words, tmp_path):
    with pytest.raises(UserError, match=r"serve\.replay_from"):
        run(["serve=replay"])
    with pytest.raises(UserError, match="no run there"):
        run(["serve=replay", f"serve.replay_from={tmp_path}"])


def test_a_run_that_nothing_moves_stops_with_the_reason(ray_session, tmp_path):
    stuck = [
        {**PROBLEMS[0], "prompt": PROBLEMS[0]["prompt"].replace("one.", "one. FAKE:slow=600 ")}
    ]
    data = write_problems(tmp_path / "data.jsonl", stuck)
    words = ["serve=fake", f"dataset.path={data}", f"runs_dir={tmp_path / 'runs'}"]
    with pytest.raises(UserError, match=r"round 0: 1 in Generate; engine replicas: 1 RUNNING"):
        run([*words, "chain.length=1", "stall_minutes=0.1"])
    status = json.loads((only_run(tmp_path / "runs") / "status.json").read_text())
    assert status["standstill"] == {
        "minutes": 0.1,
        "open_rows": 1,
        "stages": {"round 0": {"Generate": 1}},
        "replicas": {"engine": {"RUNNING": 1}},
    }
