import dataclasses

import polars as pl
import pytest
from matrix_cases import make_tables

from analysis.trust.answers import (
    ANSWERS,
    answer_problems,
    right_shares,
    score_samples,
    summarize,
)


def with_source(tables):
    programs = tables.programs.with_columns(source=pl.col("program_id") + " source")
    return dataclasses.replace(tables, programs=programs)


TABLES = with_source(make_tables({"right": "hhv", "twin": "hhv", "wrong": "vvh", "odd": "vvv"}))


def answer(threshold=None, tables=TABLES, scores=None):
    scored = score_samples(tables, None)
    if scores:
        column = pl.col("program_id").replace_strict(scores, return_dtype=pl.Float64)
        scored = scored.with_columns(score=column)
    answers = answer_problems(tables, scored, threshold=threshold)
    assert answers.schema == ANSWERS
    return answers


def test_without_a_model_the_program_that_agrees_most_is_chosen():
    row = answer().row(0, named=True)
    assert (row["program_id"], row["source"]) == ("right", "right source")
    assert (row["probability"], row["answered"]) == (None, True)


def test_agreement_is_shared_out_among_consensus_sets():
    scored = score_samples(TABLES, None).sort("program_id")
    scores = dict(zip(scored["program_id"], scored["score"], strict=True))
    assert scores["right"] == scores["twin"]
    assert scores["right"] + scores["wrong"] + scores["odd"] == pytest.approx(1)


def test_without_io_specs_outputs_say_who_agrees():
    tables = with_source(
        make_tables(
            {"right": "h", "twin": "h", "wrong": "v"},
            kind="relation",
            outputs={"right": "ab", "twin": "ab", "wrong": "ac"},
        )
    )
    assert answer(tables=tables)["program_id"].to_list() == ["right"]


def test_of_equal_programs_the_one_drawn_most_is_chosen():
    votes = {"once": "h", "right": "h"}
    tables = with_source(make_tables(votes, weights={"right": 3}))
    row = answer(tables=tables, scores={"once": 0.5, "right": 0.5}).row(0, named=True)
    assert (row["program_id"], row["samples"], row["drawn"]) == ("right", 3, 4)


SCORES = {"right": 0.7, "twin": 0.2, "wrong": 0.1, "odd": 0.0}


@pytest.mark.parametrize(("threshold", "answered"), [(0.7, True), (0.71, False)])
def test_below_the_threshold_it_declines(threshold, answered):
    row = answer(threshold, scores=SCORES).row(0, named=True)
    assert (row["probability"], row["answered"]) == (0.7, answered)


def shares(answers):
    return {name: share["value"] for name, share in summarize(answers)["shares"].items()}


def test_figures_of_answers_that_were_declined_are_null():
    found = answer(0.9, scores=SCORES)
    figures = summarize(found)
    assert (figures["answered"], figures["declined"]) == (0, 1)
    assert (shares(found)["answered_right"], shares(found)["chosen_right"]) == (None, 1.0)
    assert (shares(found)["random_right"], shares(found)["any_right"]) == (0.25, 1.0)


def test_a_share_comes_with_its_exact_interval():
    share = right_shares(answer())["chosen_right"]
    assert (share.low, share.high, share.n) == (pytest.approx(0.025), 1.0, 1)


def test_without_labels_nothing_is_said_of_right_and_wrong():
    unknown = TABLES.programs.with_columns(correct=pl.lit(None, dtype=pl.Boolean))
    found = answer(tables=dataclasses.replace(TABLES, programs=unknown))
    assert set(shares(found).values()) == {None}
