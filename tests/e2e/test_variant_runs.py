"""Variants of the chain on real Ray, Ray Serve and sandbox, with fake engines."""

import json

import polars as pl
import pytest
from runs import PROBLEMS, only_run, table, write_problems

from pipeline.run import run

pytestmark = [pytest.mark.ray, pytest.mark.timeout(300)]


@pytest.fixture
def made(ray_session, tmp_path):
    """Make a small run and return its folder."""

    def make(*more):
        data = write_problems(tmp_path / "data.jsonl")
        words = ["serve=fake", f"dataset.path={data}", f"runs_dir={tmp_path / 'runs'}", *more]
        assert run(words) == 0
        return only_run(tmp_path / "runs")

    return make


def manifest_of(folder):
    return json.loads((folder / "manifest.json").read_text())


def test_two_engines_answer_in_one_run(made):
    folder = made(
        "chain.length=1",
        "sandbox.actors=1",
        "engine.cpus_per_replica=0.1",
        "chain.describer=smollm2_135m",
        "chain.describer.model.max_model_len=1024",
    )
    manifest = manifest_of(folder)
    assert manifest["engine"]["max_model_len"] == 2048
    assert manifest["describer"]["engine"]["max_model_len"] == 1024
    assert set(table(folder, "completions")["role"]) == {"generate", "summarize"}


def test_a_run_from_code_makes_no_request_for_the_first_program(made, capfd):
    folder = made("chain.length=1", "chain.start=code")
    first = table(folder, "steps").filter(step=0)
    assert set(first["verdict"]) == {"pass"}
    assert table(folder, "completions").filter(step=0).height == 0
    assert "Pass@1" not in capfd.readouterr().out


def test_samples_at_a_temperature_are_chains_of_their_own(made, capfd):
    folder = made("chain.length=1", "chain.samples=3", "chain.sampling.temperature=0.8")
    chains = table(folder, "chains")
    assert chains.height == 3 * len(PROBLEMS)
    assert chains.group_by("problem_id").agg(pl.col("sample").sort())["sample"].to_list() == [
        [0, 1, 2]
    ] * len(PROBLEMS)
    seeds = table(folder, "completions").filter(step=0)["text"].n_unique()
    assert seeds > len(PROBLEMS)
    assert "pass@2" in capfd.readouterr().out


def test_the_problem_that_is_shown_is_left_out_by_name(made, capfd):
    folder = made("chain.length=1", "example.problem_id=toy/double")
    assert "toy/double" not in set(table(folder, "chains")["problem_id"])
    manifest = manifest_of(folder)
    assert "worked example" in manifest["dataset"]["left_out"]["toy/double"]
    assert manifest["example"]["name"] == "double"
    assert "left out toy/double" in capfd.readouterr().out


def test_an_audit_runs_every_chain_to_its_end_and_finds_the_fake_engine_sound(made, capfd):
    folder = made("chain.length=4", "chain.audit=1")
    assert not set(table(folder, "chains")["stop_reason"]) & {"fixed_point", "cycle"}
    audit = json.loads((folder / "metrics.json").read_text())["audit"]
    assert audit["contradictions"] == []
    assert "Audit of early stop" in capfd.readouterr().out
    assert manifest_of(folder)["determinism"]["engine_batch_invariant"] is True


def test_broken_chains_are_asked_again_and_the_end_of_the_run_says_who_is_to_blame(made, capfd):
    folder = made("chain.length=2", "chain.blame=4", "chain.stop=[decided]")
    again = table(folder, "resamples")
    assert again.height > 0
    assert set(again.group_by("chain_id").len()["len"]) == {4}
    blame = json.loads((folder / "metrics.json").read_text())["blame"]
    assert blame["requests"] == again.height
    assert "Who is to blame where chains broke" in capfd.readouterr().out
