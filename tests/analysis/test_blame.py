import dataclasses
import io

import polars as pl
import pytest
from chain_cases import case_of, to_tables
from rich.console import Console

from analysis.blame import BLAMED, blamed_chains, measure_blame, render_blame
from analysis.tables import RESAMPLES


def tables_of(*findings, case=None, said=True):
    tables = to_tables([case or case_of("length", 1, "Pp", length=1)])
    rows = [
        {
            "chain_id": "p/0",
            "step": 1,
            "from_step": 0,
            "index": index,
            "finding": finding,
            "completion_tokens": 7,
        }
        for index, finding in enumerate(findings)
    ]
    nl = pl.lit("Doubles." if said else None, pl.String)
    steps = tables.steps.with_columns(nl=nl)
    resamples = pl.LazyFrame(rows, schema=RESAMPLES)
    return dataclasses.replace(tables, steps=steps, resamples=resamples)


def blame_of(*findings, **more):
    (row,) = blamed_chains(tables_of(*findings, **more), 1).iter_rows(named=True)
    return row["blame"]


A, D, N, X = "agrees", "differs", "no_program", "failed"


@pytest.mark.parametrize(
    ("findings", "blame"),
    [
        ((A, A, D), "program"),
        ((A, D, D), "description"),
        ((A, D), "undecided"),
        ((A, N, X), "undecided"),
        ((D, D, N), "description"),
        ((N, N, N), "undecided"),
        ((), None),
    ],
)
def test_a_side_is_to_blame_if_more_than_half_of_all_programs_say_so(findings, blame):
    assert blame_of(*findings) == blame


def test_a_model_that_gave_no_description_needs_no_programs():
    assert blame_of(case=case_of("unparsable", 1, "PP", length=1), said=False) == "description"


def test_a_chain_without_a_first_program_has_no_description_to_blame():
    assert blame_of(case=case_of("unparsable", 0, "P", length=1), said=False) is None


def test_a_chain_that_held_is_not_listed():
    found = blamed_chains(tables_of(case=case_of("length", 1, "PP", length=1)), 1)
    assert found.height == 0
    assert found.schema == BLAMED


def test_the_counts_of_a_run_hold_what_it_cost():
    blame = measure_blame(tables_of(A, D, D), 1)
    assert blame.to_json() == {
        "broken": 1,
        "chains": {"description": 1, "program": 0, "undecided": 0},
        "programs": {A: 1, D: 2, N: 0, "incomparable": 0, X: 0},
        "requests": 3,
        "completion_tokens": 21,
    }


def test_the_terminal_shows_each_verdict_and_the_cost():
    screen = io.StringIO()
    Console(file=screen, width=80).print(render_blame(measure_blame(tables_of(A, D, D), 1)))
    shown = " ".join(screen.getvalue().split())
    assert "description 1 most programs written from it differ" in shown
    assert "From 3 more programs (1 agrees, 2 differs), 21 tokens written" in shown
