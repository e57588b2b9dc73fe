"""The commands around stored results, on a small run folder and a small recorded file."""

import json
import shutil
from dataclasses import asdict

import polars as pl
import pytest

from analysis.tables import RUN_TABLES
from conf import UserError
from pipeline.cli import main
from pipeline.compose import load_config, to_plain
from pipeline.datasets import dataset_facts, load_problems
from pipeline.stored_run import first_texts, mask_description, read_stored, show_texts

PROBLEMS = [
    {
        "problem_id": name,
        "prompt": f'def {name}(n):\n    """As in {name}(1), {name} n."""\n',
        "entry_point": name,
        "tests": [{"args": "1", "expected": "2"}],
    }
    for name in ("twice", "add", "step")
]
RECORD = {
    "NL_0": 'def half(n):\n    """Half of n."""\n',
    "function_name": "half",
    "function_signature": "def half(n):\n",
    "contract": "",
    "atol": 0,
    "tests": [{"input": "2", "output": "1"}],
    "PL_0": "    return n / 2\n",
    "PL_0_results": ["Passed"],
    "NL_1": '    """Half of n."""\n',
    "PL_1": "    return n\n",
    "PL_1_results": ["Time Out"],
}


@pytest.fixture
def folder(tmp_path):
    """Makes a run folder of one step; given: the verdict of each problem's two programs."""
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(problem) + "\n" for problem in PROBLEMS))

    def make(name, verdicts, *more):
        config = load_config([f"dataset.path={data}", "chain.length=1", *more])
        problems = load_problems(config.dataset)
        path = tmp_path / name
        facts = asdict(dataset_facts(config.dataset, problems))
        rows = [rows_of(p["problem_id"], v) for p, v in zip(PROBLEMS, verdicts, strict=False)]
        for table, schema in RUN_TABLES.items():
            (path / table).mkdir(parents=True)
            found = [row for each in rows for row in each[table]]
            pl.DataFrame(found, schema=schema).write_parquet(path / table / "shard-000000.parquet")
        manifest = {"config": to_plain(config), "dataset": facts}
        (path / "manifest.json").write_text(json.dumps(manifest))
        return path

    return make


def rows_of(problem, verdicts):
    """A chain of one test a step: P matches the step before and passes, f does neither."""
    key = {"chain_id": f"{problem}/0", "problem_id": problem, "sample": 0}
    chain = {"dataset": "data", "length": 1, "steps": 2, "stop_reason": "length", "stop_step": 1}
    rows = {"chains": [key | chain], "steps": [], "outcomes": [], "completions": []}
    for step, letter in enumerate(verdicts):
        verdict = "pass" if letter == "P" else "fail"
        counts = {"tests": 1, "comparable": step, "matching": step * (letter == "P")}
        name = "func" if step else problem
        text = f'def {name}(n):\n    """Doc."""\n    return {name}(n - 1)\n'
        made = {"nl": f"step {step}" if step else None, "pl": text, "load": "ok"}
        rows["steps"].append(key | {"step": step, "verdict": verdict} | counts | made)
        seen = {"test_id": "0", "kind": "value", "encoding": "2", "message": "", "cpu_s": 0.1}
        match = letter == "P" if step else None
        rows["outcomes"].append(
            key | seen | {"step": step, "verdict": verdict, "matches_previous": match}
        )
    return rows


@pytest.fixture
def record(tmp_path):
    path = tmp_path / "record.jsonl"
    lines = [json.dumps(RECORD | {"task_id": f"t/{n}"}) for n in range(3)]
    path.write_text("\n".join(lines) + "\n")
    return path


def said(capsys):
    return capsys.readouterr().out


def test_a_run_is_rescored_with_its_own_scores(folder, capsys):
    assert main(["rescore", str(folder("run", ["PP", "Pf", "ff"]))]) == 0
    assert "3 chains of 3 problems" in said(capsys)


def test_a_run_is_rescored_by_the_release_s_rules(folder, capsys):
    assert main(["rescore", str(folder("run", ["PP", "Pf", "ff"])), "scoring=reference"]) == 0
    lines = said(capsys).splitlines()
    assert [line.split()[-7] for line in lines if line.startswith("Pass@1")] == ["2/3"]
    # The shown programs are equal, which the release takes for the same behaviour.
    assert [line.split()[-7] for line in lines if line.startswith("SC_1 as published")] == ["3/3"]


def test_a_recorded_file_is_rescored_under_either_scoring(record, capsys):
    for scoring, passed in (("reference", "3/3"), ("strict", "0/3")):
        assert main(["rescore", str(record), f"scoring={scoring}"]) == 0
        assert f" {passed} " in next(
            line for line in said(capsys).splitlines() if line.startswith("passed at step 1")
        )


def test_a_recorded_file_is_judged_again_and_differences_are_listed(record, capsys):
    assert main(["rescore", str(record), "scoring=reference", "judge=true"]) == 0
    shown = said(capsys)
    assert "3 of 6 results of 6 programs are as recorded" in shown
    assert "t/2 step 1 test 0: Time Out -> AssertionError: outputs 2" in shown
    assert "judged again: 3 chains, scoring=reference" in shown


@pytest.mark.parametrize("command", ["broken", "compare", "rescore"])
def test_a_run_of_the_other_job_is_refused_in_one_line(folder, command, capsys):
    run = folder("run", ["PP"])
    shutil.rmtree(run / "chains")  # a trust run has completions and a manifest, but no chains
    assert main([command, str(run), *[str(run)] * (command == "compare")]) == 2
    told = capsys.readouterr().err
    assert "give the folder of a chain run" in told
    assert told.count("\n") == 1


def test_runs_are_compared_problem_by_problem(folder, capsys):
    runs = [str(folder("one", ["PP", "PP", "ff"])), str(folder("two", ["PP", "ff", "ff"]))]
    assert main(["compare", *runs]) == 0
    shown = said(capsys)
    assert "two against one" in shown
    assert "Pass@1 lost: 1 (add)" in shown


def test_runs_of_other_problems_are_compared_only_when_told(folder, capsys):
    runs = [str(folder("one", ["PP", "PP"])), str(folder("two", ["PP"]))]
    assert main(["compare", *runs]) == 2
    assert "allow_different=true" in capsys.readouterr().err
    assert main(["compare", *runs, "allow_different=true"]) == 0


def test_runs_judged_with_other_budgets_are_of_different_scoring(folder, capsys):
    runs = [str(folder("one", ["PP"])), str(folder("two", ["PP"], "sandbox.cpu_s=9"))]
    assert main(["compare", *runs]) == 2
    assert "their scoring differs" in capsys.readouterr().err


def test_metrics_of_a_run_are_correlated_with_labels(folder, tmp_path, capsys):
    labels = tmp_path / "labels.csv"
    labels.write_text("problem_id,label\ntwice,1\nadd,0\nstep,0\n")
    assert main(["correlate", str(folder("run", ["PP", "Pf", "ff"])), str(labels)]) == 0
    row = next(line.split() for line in said(capsys).splitlines() if line.startswith("  tom"))
    assert row == ["tom", "3", "1.000", "1.000", "1.000"]


def test_metrics_of_a_recorded_file_are_correlated_with_labels(record, tmp_path, capsys):
    labels = tmp_path / "labels.csv"
    labels.write_text("problem_id,label\nt/0,1\nt/1,0\nt/2,0\n")
    assert main(["correlate", str(record), str(labels)]) == 0
    assert "the metric is 0 in every row" in " ".join(said(capsys).split())


def test_texts_are_compared_as_the_model_is_shown_them(folder):
    run = read_stored(folder("run", ["PP"]))
    shown = show_texts(run.tables, run.problems())
    programs = shown.steps.collect()["pl"].to_list()
    assert programs == ["def func(n):\n    return func(n - 1)\n"] * 2
    assert first_texts(shown)["nl"].to_list() == ["As in func(1), twice n."]


def test_a_name_is_masked_in_prose_only_where_it_is_called():
    text = "count(s) counts; recount(s) does not. The count is count (s)."
    assert mask_description(text, "count") == (
        "func(s) counts; recount(s) does not. The count is count (s)."
    )


def test_a_data_set_that_has_changed_is_refused(folder, tmp_path):
    run = read_stored(folder("run", ["PP"]))
    data = tmp_path / "data.jsonl"
    data.write_text(data.read_text().replace("As in", "Like"))
    with pytest.raises(UserError, match="has changed since the run was made"):
        run.problems()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["rescore", "RUN", "scoring=nice"], "choose one of reference, strict"),
        (["rescore", "RUN", "judge=true"], "for recorded files"),
        (["rescore", "FILE", "judge=yes"], "true or false"),
        (["rescore", "/no/such.jsonl"], "/no/such.jsonl"),
        (["compare", "RUN"], "needs RUN_A RUN_B"),
        (["compare", "RUN", "/no/such"], "no run there"),
        (["correlate", "RUN", "/no/labels.csv"], "/no/labels.csv"),
        (["correlate", "RUN", "LABELS", "scoring=reference"], "for recorded files"),
        (["correlate", "RUN", "LABELS", "step=2"], "the run has 1 steps"),
        (["correlate", "FILE", "LABELS", "step=2"], "no chain"),
        (["doctor", "strict"], "takes no words"),
    ],
)
def test_a_mistake_is_one_line(words, reason, folder, record, tmp_path, capsys):
    labels = tmp_path / "labels.csv"
    labels.write_text("problem_id,label\ntwice,1\n")
    real = {"RUN": str(folder("run", ["PP"])), "FILE": str(record), "LABELS": str(labels)}
    assert main([real.get(word, word) for word in words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert reason in error


def test_doctor_says_what_auto_takes(capsys):
    assert main(["doctor"]) == 0
    lines = said(capsys).splitlines()
    assert lines[-1].startswith("sandbox.isolation=auto takes ")
    assert any(line.startswith("minimal: proved") for line in lines)
