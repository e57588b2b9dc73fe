import numpy as np
import polars as pl
import pytest
from matrix_cases import make_tables

from analysis.trust.explain import EXPLANATIONS, LOG_RATIO, explain
from analysis.trust.explain_scores import score_explanations


def score(probabilities, problem="p"):
    return pl.DataFrame(
        [
            {"problem_id": problem, "program_id": name, "score": value, "correct": name == "right"}
            for name, value in probabilities.items()
        ]
    )


PROBABILITIES = {"right": 0.8, "near": 0.3, "far": 0.1}


def shown(votes, **options):
    kind = options.pop("kind", "io")
    return explain(make_tables(votes, kind=kind), score(PROBABILITIES), **options)


def test_the_spec_that_only_probable_programs_hold_comes_first():
    found = shown({"right": "hhh", "near": "hhv", "far": "hvv"})
    assert found["spec_id"].to_list() == ["2", "1", "0"]
    assert found["rank"].to_list() == [1, 2, 3]


def test_the_criterion_is_the_smoothed_log_ratio_of_the_two_chances():
    found = shown({"right": "h", "near": "h", "far": "v"})
    right, wrong = (0.8 + 0.3) / 1.2, (0.2 + 0.7) / 1.8
    assert found["criterion"][0] == pytest.approx(np.log((right + 0.01) / (wrong + 0.01)))


def test_only_specs_of_the_most_probable_program_are_shown():
    found = shown({"right": "hv", "near": "vh", "far": "vh"})
    assert (found["program_id"].to_list(), found["spec_id"].to_list()) == (["right"], ["0"])


def test_a_spec_that_says_what_a_better_one_says_is_left_out():
    found = shown({"right": "hhh", "near": "vvh", "far": "vvv"})
    assert found["spec_id"].to_list() == ["0", "2"]


def test_a_relation_that_no_output_falsifies_is_left_out():
    found = shown({"right": "hh", "near": "hv", "far": "hv"}, kind="relation")
    assert found["spec_id"].to_list() == ["1"]


def test_specs_come_with_the_inputs_on_which_they_were_tested_and_the_outputs():
    tables = make_tables(
        {"right": "h", "near": "v"}, kind="relation", outputs={"right": "ab!", "near": "cd!"}
    )
    found = explain(tables, score(PROBABILITIES).head(2))
    assert found["examples"].to_list() == [
        [{"args": "0", "encoding": "a"}, {"args": "1", "encoding": "b"}]
    ]
    assert found.schema == EXPLANATIONS


def test_without_a_spec_that_holds_nothing_is_shown():
    assert shown({"right": "v", "near": "v", "far": "v"}).schema == EXPLANATIONS


def make_problems(*specs):
    """One problem for each pair: letters of the reference, of the chosen program."""
    frames = []
    for number, (reference, right, wrong) in enumerate(specs):
        tables = make_tables({"reference": reference, "right": right, "wrong": wrong})
        frames.append(
            [
                getattr(tables, name).with_columns(problem_id=pl.lit(str(number)))
                for name in ("programs", "specs", "outputs", "checks")
            ]
        )
    return type(tables)(*map(pl.concat, zip(*frames, strict=True)))


def test_an_ideal_reader_accepts_what_is_shown_with_true_specs_only():
    tables = make_problems(("h", "h", "v"), ("v", "v", "h"))
    scored = pl.concat(
        [score({"right": 0.9, "wrong": 0.1}, "0"), score({"right": 0.1, "wrong": 0.9}, "1")]
    )
    found = score_explanations(tables, scored, LOG_RATIO, kind="io", shown=1)
    assert (found.problems, found.ideal_reader.value) == (2, 1.0)
    assert (found.true_when_right, found.kill_when_right) == (1.0, 1.0)
