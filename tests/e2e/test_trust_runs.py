"""Whole trust runs on real Ray, Ray Serve and sandbox: with the fake engine, and with none."""

import gzip
import json

import polars as pl
import pytest
from runs import PROBLEMS, only_run, table, write_problems

from conf import UserError
from pipeline.journal import read_journal
from pipeline.trust import job
from pipeline.trust.job import run_trust
from pipeline.trust.schemas import TRUST_RUN_TABLES

pytestmark = [pytest.mark.ray, pytest.mark.timeout(300)]
K = 6
TOKENS = ("prompt_tokens", "completion_tokens")


@pytest.fixture(scope="module")
def sampled(ray_session, tmp_path_factory):
    """A run with the fake engine, which later tests also take as stored samples."""
    place = tmp_path_factory.mktemp("trust")
    assert run_trust(words(place, "serve=fake", f"trust.k={K}", "trust.inputs=both")) == 0
    return only_run(place / "runs")


def words(place, *more, problems=PROBLEMS):
    data = write_problems(place / "data.jsonl", problems)
    return [f"dataset.path={data}", f"runs_dir={place / 'runs'}", "sandbox.actors=1", *more]


def test_a_run_leaves_every_table(sampled):
    for name, schema in TRUST_RUN_TABLES.items():
        assert table(sampled, name).columns == schema.names
    assert sorted(table(sampled, "problems")["problem_id"]) == sorted(
        problem["problem_id"] for problem in PROBLEMS
    )


def test_every_program_and_every_text_of_specs_is_asked_for(sampled):
    asked = table(sampled, "completions").group_by("problem_id", "role").len()
    assert asked.height == 4 * len(PROBLEMS)
    assert set(asked["len"]) == {K}


def test_the_samples_of_a_problem_are_all_accounted_for(sampled):
    drawn = table(sampled, "programs").group_by("problem_id").agg(pl.col("weight").sum())
    assert set(drawn["weight"]) == {K}


def test_log_probabilities_are_kept_a_token(sampled):
    programs = table(sampled, "programs").filter(pl.col("weight") > 0)
    assert programs["logprob"].null_count() == 0
    assert programs["logprob"].is_between(-1, 0).all()


def test_each_problem_has_an_answer(sampled):
    answers = json.loads((sampled / "answers.json").read_text())
    assert len(answers) == len(PROBLEMS)
    assert all(answer["probability"] is None and answer["answered"] for answer in answers)


def test_a_finished_run_that_goes_on_asks_nothing(sampled, monkeypatch, capfd):
    monkeypatch.setattr(job, "answerer", None)
    shards = sorted(sampled.glob("*/*.parquet"))
    assert run_trust([f"resume={sampled}"]) == 0
    assert sorted(sampled.glob("*/*.parquet")) == shards
    assert "answered 3 of 3 problems" in capfd.readouterr().out


def test_a_run_goes_on_with_what_it_lacks(sampled, tmp_path, monkeypatch):
    class Interrupted(job.TrustWriter):
        def add(self, rows):
            super().add(rows)
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(job, "TrustWriter", Interrupted)
        source = [f"trust.from={sampled}"]
        assert run_trust(words(tmp_path, *source)) == job.INTERRUPTED
    run = only_run(tmp_path / "runs")
    (first,) = run.glob("problems/*.parquet")
    before = first.read_bytes()
    assert run_trust([f"resume={run}"]) == 0
    assert sorted(table(run, "problems")["problem_id"]) == sorted(
        problem["problem_id"] for problem in PROBLEMS
    )
    assert first.read_bytes() == before


def test_a_runs_tables_can_be_checked_again_without_an_engine(sampled, tmp_path, monkeypatch):
    monkeypatch.setattr(job, "answerer", None)
    assert run_trust(words(tmp_path, f"trust.from={sampled}")) == 0
    again = only_run(tmp_path / "runs")
    for name in ("programs", "specs", "outputs", "checks"):
        one, other = (_sorted(table(run, name)) for run in (sampled, again))
        assert one.equals(other)


def test_a_model_is_fitted_and_then_gives_probabilities(sampled, tmp_path):
    model = tmp_path / "model.json"
    labels = table(sampled, "programs").filter(pl.col("weight") > 0)["correct"]
    assert labels.n_unique() == 2
    stored = words(tmp_path, f"trust.from={sampled}")
    assert run_trust([*stored, f"trust.fit={model}"]) == 0
    assert run_trust([*stored, f"trust.model={model}", "trust.threshold=1", "name=second"]) == 0
    (second,) = (tmp_path / "runs").glob("*-second")
    answers = json.loads((second / "answers.json").read_text())
    assert all(0 < answer["probability"] < 1 for answer in answers)
    assert not any(answer["answered"] for answer in answers)


def test_stored_samples_in_codets_layout_are_checked(ray_session, tmp_path):
    folder = tmp_path / "codet"
    folder.mkdir()
    _write(folder / "humaneval_problems", [CODET])
    _write(folder / "x_codegen16b_programs", [sampled_of("    return n + 1\n", "    return n\n")])
    _write(folder / "x_codegen16b_tests", [sampled_of("increment(1) == 2")])
    relation = {"task_id": "T/0", "set": "B", "n": 0, "postcondition": "assert return_value > n"}
    _write(folder / "x_postconditions", [relation])
    words = [f"trust.from={folder}", f"runs_dir={tmp_path / 'runs'}", "sandbox.actors=1"]
    assert run_trust(words) == 0
    (answer,) = json.loads((only_run(tmp_path / "runs") / "answers.json").read_text())
    assert answer["correct"]
    assert answer["source"].endswith("return n + 1\n")


def test_a_budget_ends_a_run_with_whole_problems_and_the_same_command_makes_the_rest(
    sampled, tmp_path, capfd
):
    answered = table(sampled, "completions")
    cost = sum(answered[name].sum() for name in TOKENS) / len(PROBLEMS)
    many = [
        {**problem, "problem_id": f"{problem['problem_id']}/{number}"}
        for number in range(4)
        for problem in PROBLEMS
    ]
    keys = "serve=fake", "dataset.limit=null", f"trust.k={K}", "trust.inputs=both"
    same = words(tmp_path, *keys, problems=many)
    budget = round(9.5 * cost)
    assert run_trust([*same, f"budget.tokens={budget}"]) == 0
    run = only_run(tmp_path / "runs")
    assert "PARTIAL RESULT" in capfd.readouterr().out
    assert 8 <= table(run, "problems").height < len(many)
    journal = read_journal(run / "journal")
    assert sum(journal[name].to_numpy().sum() for name in TOKENS) <= budget

    assert run_trust(same) == 0
    assert table(run, "problems")["problem_id"].n_unique() == len(many)


def test_a_trust_run_goes_on_by_its_own_command_only(sampled):
    from pipeline.run import run

    with pytest.raises(UserError):
        run([f"resume={sampled}"])


CODET = {
    "task_id": "T/0",
    "entry_point": "increment",
    "prompt": 'def increment(n):\n    """n + 1"""\n',
    "test": "def check(candidate):\n    assert candidate(1) == 2\n",
    "canonical_solution": "    return n + 1\n",
}


def sampled_of(*texts):
    return {"task_id": "T/0", "samples": list(texts)}


def _write(path, records):
    with gzip.open(f"{path}.jsonl.gz", "wt") as lines:
        lines.writelines(json.dumps(record) + "\n" for record in records)


def _sorted(frame):
    keys = [name for name in frame.columns if name.endswith("_id")]
    return frame.drop("cpu_s", strict=False).sort(keys)
