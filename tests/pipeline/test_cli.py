import json

import pytest

from pipeline.cli import COMMANDS, main

GOOD = {
    "problem_id": "a",
    "prompt": 'def inc(n):\n    """Add one."""\n',
    "entry_point": "inc",
    "tests": [{"args": "1", "expected": "2"}],
}


def lines(*records):
    return "".join(
        f"{record if isinstance(record, str) else json.dumps(record)}\n" for record in records
    )


def test_help_lists_every_command(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert [name for name in COMMANDS if name not in shown] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name, capsys):
    assert main([name, "--help"]) == 0
    assert f"./launch.sh {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rnu"], ["rnu", "run"]),
        (["run", "chain.lenght=3"], ["chain.lenght", "chain.length"]),
        (["run", "model.path=/no/such/folder"], ["/no/such/folder", "no such folder"]),
        (["run", "dataset.path=/no/such.jsonl"], ["/no/such.jsonl"]),
        (["run", "dataset.ids=[HumanEval/999]"], ["HumanEval/999"]),
        (["run", "resume=/no/such/run"], ["/no/such/run", "no run there"]),
        (["describe", "cluster.num_cpus=1"], ["1 CPUs", "needs 1.58"]),
        (["judge", "x.json"], ["--out"]),
        (["judge", "/no/such.json", "--out", "/dev/null"], ["/no/such.json"]),
    ],
)
def test_a_mistake_is_one_line_and_status_two(words, said, capsys):
    assert main(words) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert [word for word in said if word not in error] == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (lines(GOOD, "{broken"), ["line 2"]),
        (lines({**GOOD, "tests": []}), ["'a'", "no tests"]),
        (lines(GOOD, GOOD), ["two problems", "'a'"]),
        ("", ["empty"]),
    ],
)
def test_a_bad_data_file_is_named_with_what_is_wrong(content, said, tmp_path, capsys):
    path = tmp_path / "data.jsonl"
    path.write_text(content)
    assert main(["run", f"dataset.path={path}"]) == 2
    error = capsys.readouterr().err
    assert [word for word in [str(path), *said] if word not in error] == []


def test_a_folder_that_is_no_model_is_refused(tmp_path, capsys):
    assert main(["run", f"model.path={tmp_path}"]) == 2
    assert "config.json" in capsys.readouterr().err


def test_an_unwritable_place_for_runs_is_refused(tmp_path, capsys):
    (tmp_path / "runs").write_text("a file")
    assert main(["run", f"runs_dir={tmp_path / 'runs'}"]) == 2
    assert "cannot write under" in capsys.readouterr().err


def test_a_mistake_starts_no_run_folder(tmp_path):
    main(["run", f"runs_dir={tmp_path / 'runs'}", "model.path=/no/such/folder"])
    assert not (tmp_path / "runs").exists()


def test_describe_says_how_many_requests(capsys):
    assert main(["describe", "cluster.num_cpus=2"]) == 0
    assert "at most 56" in capsys.readouterr().out
