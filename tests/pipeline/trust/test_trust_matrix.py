import json

import polars as pl
import pytest
from trust_cases import write_codet

from conf import UserError
from pipeline.checking import OneSandbox
from pipeline.trust.build import build_matrix, built_cost
from pipeline.trust.codet import CodetChoice, read_codet
from pipeline.trust.matrix import REFERENCE, check_problem
from sandbox import Sandbox

PROGRAMS = {
    "right": "    return n * by\n",
    "wrong": "    return n + by\n",
    "raises": "    return n[0]\n",
    "loops": "    while n: pass\n    return 0\n",
    "broken": "    return (\n",
}
TESTS = {
    "case": "double(3) == 6",
    "false case": "double(3) == 7",
    "truth": "double(3)",
    "check": "double(3) > 5",
    "erring check": "len(double(3)) == 1",
    "broken": "____ == double(3)",
}
RELATIONS = {
    "even": "assert return_value % 2 == 0",
    "erring": "assert return_value[0]",
    "changes": "assert return_value == n * by; n = None",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("codet")
    write_codet(
        folder,
        programs=[*PROGRAMS.values(), PROGRAMS["right"]],
        tests=[*TESTS.values()],
        relations=[*RELATIONS.values()],
    )
    return folder


def samples_of(folder):
    return list(read_codet(CodetChoice(folder, programs="m", tests="m")))


@pytest.fixture(scope="module")
def tables(folder):
    with Sandbox() as sandbox:
        tables, _ = check_problem(samples_of(folder)[0], OneSandbox(sandbox))
    return {name: pl.from_arrow(table) for name, table in tables.items()}


@pytest.fixture(scope="module")
def results(tables):
    """Result by program and spec, both by the names they have here."""
    programs = dict(zip(tables["programs"]["program_id"], [*PROGRAMS, REFERENCE], strict=True))
    specs = dict(zip(tables["specs"]["spec_id"], [*TESTS, *RELATIONS], strict=True))
    rows = tables["checks"].iter_rows(named=True)
    return {(programs[r["program_id"]], specs[r["spec_id"]]): r["result"] for r in rows}


def test_equal_programs_are_one_row_with_their_weight(tables):
    assert tables["programs"]["weight"].to_list() == [2, 1, 1, 1, 1, 0]


def test_hidden_tests_label_programs(tables):
    assert tables["programs"]["correct"].to_list() == [True, False, False, False, False, True]


@pytest.mark.parametrize(
    ("spec", "right", "wrong"),
    [
        ("case", "holds", "violated"),
        ("false case", "violated", "violated"),
        ("truth", "holds", "holds"),
        ("check", "holds", "violated"),
        ("erring check", "error", "error"),
        ("broken", "error", "error"),
        ("even", "holds", "violated"),
        ("erring", "error", "error"),
        ("changes", "holds", "violated"),
    ],
)
def test_a_spec_holds_is_violated_or_errs(results, spec, right, wrong):
    assert (results["right", spec], results["wrong", spec]) == (right, wrong)


@pytest.mark.parametrize("program", ["raises", "loops", "broken"])
def test_a_program_without_a_value_violates_all_but_broken_specs(results, program):
    found = {spec: results[program, spec] for spec in (*TESTS, *RELATIONS)}
    assert {spec for spec, result in found.items() if result != "violated"} == {"broken"}


def test_every_program_has_an_output_on_every_input(tables):
    assert tables["outputs"].height == tables["programs"].height * 1


def test_a_matrix_goes_on_where_it_stopped(folder, tmp_path):
    first = list(build_matrix(samples_of(folder), tmp_path, made_of={"a": 1}))
    again = list(build_matrix(samples_of(folder), tmp_path, made_of={"a": 1}))
    assert [cost.programs for cost in first] == [6]
    assert again == []
    assert built_cost(tmp_path) == first[0]


def test_a_matrix_of_other_samples_is_not_gone_on_with(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({"a": 1}))
    with pytest.raises(UserError, match="other samples"):
        list(build_matrix([], tmp_path, made_of={"a": 2}))
