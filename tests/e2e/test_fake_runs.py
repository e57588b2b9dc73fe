"""Whole runs on real Ray, Ray Serve and sandbox, with the fake engine."""

import json

import pytest
from runs import PROBLEMS, broken_gold, only_run, table, too_long, write_problems

from conf import UserError
from pipeline import chain
from pipeline.run import run
from pipeline.schemas import RUN_TABLES

pytestmark = [pytest.mark.ray, pytest.mark.timeout(300)]


@pytest.fixture
def words(ray_session, tmp_path):
    """The words of a small run whose folder lies under tmp_path/runs."""

    def make(*more, problems=PROBLEMS):
        data = write_problems(tmp_path / "data.jsonl", problems)
        return ["serve=fake", f"dataset.path={data}", f"runs_dir={tmp_path / 'runs'}", *more]

    return make


def test_a_run_leaves_every_table_and_its_scores(words, tmp_path, capfd):
    assert run(words("chain.length=2")) == 0
    folder = only_run(tmp_path / "runs")
    assert sorted(table(folder, "chains")["chain_id"]) == sorted(
        f"{problem['problem_id']}/0" for problem in PROBLEMS
    )
    for name, schema in RUN_TABLES.items():
        assert table(folder, name).columns == schema.names
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["chains"] == 3
    assert "Pass@1" in capfd.readouterr().out


def test_the_manifest_says_what_the_run_was_made_of(words, tmp_path):
    run(words("chain.length=1", "dataset.limit=1"))
    manifest = json.loads((only_run(tmp_path / "runs") / "manifest.json").read_text())
    assert manifest["config"]["chain"]["length"] == 1
    assert manifest["isolation"]["level"] in ("strict", "standard", "standard-nofs")
    assert manifest["dataset"]["problems"] == 1
    assert manifest["engine"]["backend"] == "fake"


def test_a_prompt_that_is_too_long_costs_one_chain_and_not_the_run(words, tmp_path):
    assert run(words("chain.length=1", problems=[PROBLEMS[0], too_long(), PROBLEMS[2]])) == 0
    chains = table(only_run(tmp_path / "runs"), "chains")
    reasons = dict(chains.select("problem_id", "stop_reason").iter_rows())
    assert reasons.pop("toy/long") == "prompt_too_long"
    assert "prompt_too_long" not in reasons.values()
    assert len(reasons) == 2


def test_an_engine_that_keeps_failing_ends_one_chain_and_not_the_run(words, tmp_path):
    failing = {**PROBLEMS[0], "problem_id": "toy/failing"}
    failing["prompt"] = failing["prompt"].replace("plus one.", "plus one. FAKE:fail=9 ")
    more = ("chain.length=1", "serve.attempts=2", "serve.backoff_s=0.01")
    assert run(words(*more, problems=[failing, PROBLEMS[1]])) == 0
    chains = table(only_run(tmp_path / "runs"), "chains")
    reasons = dict(chains.select("problem_id", "stop_reason").iter_rows())
    assert reasons["toy/failing"] == "engine_error"
    assert reasons["toy/double"] != "engine_error"


def test_a_problem_whose_own_solution_fails_is_left_out_by_name(words, tmp_path, capfd):
    assert run(words("chain.length=1", problems=[PROBLEMS[0], broken_gold()])) == 0
    folder = only_run(tmp_path / "runs")
    assert table(folder, "chains")["problem_id"].to_list() == ["toy/increment"]
    assert "toy/broken" in json.loads((folder / "manifest.json").read_text())["dataset"]["left_out"]
    assert "left out toy/broken" in capfd.readouterr().out


def test_an_interrupted_run_keeps_what_is_done_and_goes_on_without_doing_it_again(
    words, tmp_path, capfd, monkeypatch
):
    counted = chain._count

    def interrupt(progress, chains):
        counted(progress, chains)
        raise KeyboardInterrupt

    monkeypatch.setattr(chain, "_count", interrupt)
    assert run(words("chain.length=1", "cluster.rows_per_block=1")) == 130
    monkeypatch.undo()
    folder = only_run(tmp_path / "runs")
    first = table(folder, "completions")
    done = set(table(folder, "chains")["chain_id"])
    assert 0 < len(done) < len(PROBLEMS)
    assert f"resume={folder}" in capfd.readouterr().out

    assert run([f"resume={folder}"]) == 0
    chains = table(folder, "chains")["chain_id"].to_list()
    assert sorted(chains) == sorted({f"{problem['problem_id']}/0" for problem in PROBLEMS})
    again = table(folder, "completions").filter(chain_id=next(iter(done)))
    assert again.equals(first.filter(chain_id=next(iter(done))))


def test_a_run_goes_on_only_as_it_was_started(words, tmp_path):
    run(words("chain.length=1", "dataset.limit=1"))
    folder = only_run(tmp_path / "runs")
    with pytest.raises(UserError, match=r"chain\.length"):
        run([f"resume={folder}", "chain.length=2"])


def test_a_finished_run_that_goes_on_only_shows_its_scores(words, tmp_path, capfd):
    run(words("chain.length=1", "dataset.limit=1"))
    folder = only_run(tmp_path / "runs")
    shards = sorted(folder.glob("*/*.parquet"))
    capfd.readouterr()
    assert run([f"resume={folder}"]) == 0
    assert sorted(folder.glob("*/*.parquet")) == shards
    assert "Pass@1" in capfd.readouterr().out
