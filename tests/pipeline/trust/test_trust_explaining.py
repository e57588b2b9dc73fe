from io import StringIO

import polars as pl
from rich.console import Console

from analysis.trust.answer_report import render_answers
from analysis.trust.tables import TrustTables
from pipeline.trust.explaining import SHOWN, explain_answers

RIGHT, WRONG = "def f(x): return [x]", "def f(x): return x"
KEY = {"problem_id": "T/0"}
TABLES = TrustTables(
    programs=pl.DataFrame(
        {"problem_id": "T/0", "program_id": ["right", "wrong"], "source": [RIGHT, WRONG]}
    ),
    specs=pl.DataFrame(
        {
            "problem_id": "T/0",
            "spec_id": ["0", "1"],
            "kind": ["io", "relation"],
            "weight": [2, 1],
            "source": ["assert f(1) == [1]", "assert return_value[0] == x"],
            "args": ["1", None],
        }
    ),
    outputs=pl.DataFrame(
        {
            "problem_id": "T/0",
            "program_id": ["right", "wrong"],
            "input_id": 0,
            "args": "1",
            "fuzz": True,
            "kind": "value",
            "encoding": ['["l",1]', "1"],
        }
    ),
    checks=pl.DataFrame(
        {
            "problem_id": "T/0",
            "program_id": ["right", "right", "wrong", "wrong"],
            "spec_id": ["0", "1", "0", "1"],
            "result": ["holds", "holds", "violated", "error"],
            "held": [1, 1, 0, 0],
            "violated": [0, 0, 1, 1],
        }
    ),
)
SCORED = pl.DataFrame(
    {"problem_id": "T/0", "program_id": ["right", "wrong"], "score": [0.9, 0.1], "correct": None}
)


def answers(*, answered=True):
    row = {"program_id": "right", "samples": 1, "drawn": 2, "probability": 0.9, "correct": None}
    return pl.DataFrame([{**KEY, **row, "answered": answered}])


def test_what_is_shown_has_values_as_python_writes_them():
    found = explain_answers(TABLES, SCORED, answers(), most=3)
    assert found.schema == SHOWN
    assert found["examples"].to_list()[0] == [{"args": "1", "value": "[1]"}]


def test_specs_that_the_same_programs_hold_are_both_shown_if_of_two_kinds():
    found = explain_answers(TABLES, SCORED, answers(), most=3)
    assert found.sort("kind")["kind"].to_list() == ["io", "relation"]


def test_what_is_declined_is_not_explained():
    found = explain_answers(TABLES, SCORED, answers(answered=False), most=3)
    assert (found.height, found.schema) == (0, SHOWN)


def test_the_report_shows_specs_with_the_inputs_they_were_tested_on():
    shown = explain_answers(TABLES, SCORED, answers(), most=2)
    text = report(shown)
    assert "assert f(1) == [1]" in text
    assert "(1) -> [1]" in text


def report(shown, specs=TABLES.specs, problems=None):
    screen = StringIO()
    problems = PROBLEMS if problems is None else problems
    specs = specs.with_columns(form=pl.lit("case")) if "form" not in specs.columns else specs
    content = render_answers(answers(), shown, problems, specs, {}, shown=1)
    Console(file=screen, width=200).print(content)
    return screen.getvalue()


def test_the_report_says_plainly_that_no_relation_could_be_used():
    shown = explain_answers(TABLES, SCORED, answers(), most=2)
    broken = TABLES.specs.with_columns(form=pl.Series(["case", "broken"]))
    assert "NO RELATION could be used" in report(shown, broken)
    assert "NO RELATION" not in report(shown)


def test_the_report_says_plainly_that_relations_had_no_input():
    shown = explain_answers(TABLES, SCORED, answers(), most=2)
    untested = PROBLEMS.with_columns(relation_checks=pl.lit(0))
    assert "NO RELATION was tested" in report(shown, problems=untested)


PROBLEMS = pl.DataFrame(
    {
        **KEY,
        "programs": [2],
        "cells": [2],
        "relation_checks": [2],
        "relation_runs": [2],
        "cpu_s": [0.1],
        "stop_reason": [None],
    },
    schema_overrides={"stop_reason": pl.String},
)
