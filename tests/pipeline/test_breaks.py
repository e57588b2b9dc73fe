import json
from dataclasses import asdict

import pytest
from chains import ScriptedModel, code, walk_chain

from pipeline.cli import main
from pipeline.compose import load_config, to_plain
from pipeline.datasets import dataset_facts, load_problems
from pipeline.runfolder import RunFolder
from pipeline.tables import to_tables

PROBLEM = {
    "problem_id": "toy/twice",
    "prompt": 'def twice(n):\n    """Double n."""\n',
    "entry_point": "twice",
    "tests": [{"args": str(n), "expected": str(2 * n)} for n in (0, 2, 3)],
}


@pytest.fixture
def run_folder(tmp_path):
    """Make a run of one chain whose model answers as scripted."""

    def make(*words, **answers):
        data = tmp_path / "data.jsonl"
        data.write_text(json.dumps(PROBLEM) + "\n")
        config = load_config([f"dataset.path={data}", "chain.length=1", *words])
        problems = load_problems(config.dataset)
        row = walk_chain(ScriptedModel(**answers), config, problem=problems.to_pylist()[0])
        folder = RunFolder.create(tmp_path / "runs", "made")
        folder.write_shard(to_tables([row], config=config, model="m"))
        facts = asdict(dataset_facts(config.dataset, problems))
        folder.write_json("manifest.json", {"config": to_plain(config), "dataset": facts})
        return str(folder.path)

    return make


def test_the_first_differing_test_is_shown_with_both_outputs(run_folder, capsys):
    folder = run_folder(
        generate_0=code("n * 2", "twice"), summarize_1="Squares.", generate_1=code("n * n + n - n")
    )
    assert main(["broken", folder]) == 0
    shown = capsys.readouterr().out
    assert "1 of 1 chains broke: outputs 1" in shown
    assert "toy/twice/0, step 0 -> 1: 1 of 3 tests differ; test 2, func(3): 6 -> 9" in shown


def test_json_has_the_same_and_the_copying(run_folder, capsys):
    body = "n * 2 + n * 0 + n * 0"
    folder = run_folder(
        generate_0=code(body, "twice"),
        summarize_1=f"It does return {body} and that is all.",
        generate_1=code("n + n"),
    )
    assert main(["broken", folder, "json=true"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["broken"] == []
    assert told["copying"]["copying"] == 1
    assert told["copying"]["sc"] == [{"step": 1, "all": 1.0, "without_copying": None, "of": 0}]


def test_who_is_to_blame_is_told_with_the_counts(run_folder, capsys):
    again = {f"blame-{n}_1": code(body) for n, body in enumerate(("n + n", "n * n", "n"))}
    folder = run_folder(
        "chain.blame=3",
        generate_0=code("n * 2", "twice"),
        summarize_1="Squares.",
        generate_1=code("n * n"),
        **again,
    )
    assert main(["broken", folder]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "blame: description (1 agree, 2 differ of 3 more programs)" in shown
    assert main(["broken", folder, "json=true"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["broken"][0]["blame"] == "description"
    assert told["blame"]["chains"] == {"description": 1, "program": 0, "undecided": 0}


def test_a_chain_that_ended_without_a_program_says_so(run_folder, capsys):
    folder = run_folder(generate_0=code("n * 2", "twice"), summarize_1="Doubles.", generate_1="No.")
    assert main(["broken", folder]) == 0
    assert "step 0 -> 1: the model gave nothing usable" in capsys.readouterr().out


def test_no_run_is_a_users_mistake(tmp_path, capsys):
    assert main(["broken", str(tmp_path)]) == 2
    assert "no run there" in capsys.readouterr().err
