import json

import polars as pl
import pytest
from chain_cases import bare_cases, case_of, to_tables
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.metrics import chain_metrics
from analysis.reference import SCORINGS, score_recorded
from analysis.rescore import rescore_chains
from analysis.retold import NO_PROGRAM, retell_run, tell_results
from analysis.tables import RunTables
from conf import UserError

NAMES = {"p": "one", "q": "two"}


def tables_of(*cases, outcomes=None) -> RunTables:
    """A run whose tests all pass, but for outcomes given by chain and step."""
    tables = to_tables(list(cases))
    given = outcomes or {}

    def field(row, index, default):
        return given.get((row["chain_id"], row["step"]), (default,) * 3)[index]

    rows = [
        row
        | {
            "verdict": field(row, 0, None) or "pass",
            "encoding": field(row, 1, None),
            "message": field(row, 2, None) or "",
        }
        for row in tables.outcomes.collect().rows(named=True)
    ]
    schema = tables.outcomes.collect_schema()
    steps = tables.steps.with_columns(pl=pl.format("program {}", pl.col("step")))
    return RunTables(tables.chains, steps, pl.LazyFrame(rows, schema=schema), tables.completions)


def retell(*cases, outcomes=None):
    return retell_run(tables_of(*cases, outcomes=outcomes), NAMES, lambda text: f"<{text}>")


@pytest.mark.parametrize(
    ("outcome", "result"),
    [
        (("pass", "1", ""), "Passed"),
        (("fail", "1", ""), "AssertionError: outputs <1>"),
        (("fail", None, "assert failed"), "AssertionError: outputs assert failed"),
        (
            ("error", json.dumps(["KeyError", "KeyError", "'a'"]), "KeyError: 'a'"),
            "KeyError: 'a'",
        ),
        (("error", None, "invalid syntax"), "Error: error: invalid syntax"),
        (("timeout", None, "used 3 s"), "Time Out"),
        (("skipped", None, "no time left"), "Time Out"),
        (("memory", None, "over 1 GiB"), "MemoryError: over 1 GiB"),
        (("unencodable", None, "a generator"), "AssertionError: outputs a generator"),
        (("crash", None, "SIGSEGV"), "Error: crash: SIGSEGV"),
        (("output", None, "too much"), "Error: output: too much"),
    ],
)
def test_every_outcome_has_a_text(outcome, result):
    [made] = retell(case_of("length", 0, "P", length=0), outcomes={("p/0", 0): outcome})
    assert set(made.steps[0].results) == {result}


@pytest.mark.parametrize(
    ("load", "message", "result"),
    [
        (
            "syntax",
            "SyntaxError: invalid syntax (<program>, line 2)",
            "SyntaxError: invalid syntax (<string>, line 2)",
        ),
        ("error", "NameError: name 'x' is not defined", "NameError: name 'x' is not defined"),
        ("error", "SystemExit", "SystemExit: "),
        ("timeout", "used up its 5 s of CPU time", "Time Out"),
        ("memory", "out of memory", "MemoryError: out of memory"),
        ("crash", "killed by SIGSEGV", "Error: crash: killed by SIGSEGV"),
        ("no_code", "there is no program", NO_PROGRAM),
    ],
)
def test_a_program_that_does_not_load_has_one_result_for_every_test(load, message, result):
    skipped = {"verdict": "skipped", "encoding": None, "message": "the program did not load"}
    assert tell_results(load, message, [skipped] * 3, str) == (result,) * 3


def test_a_program_of_a_run_that_does_not_load_fails_by_the_release_s_rules():
    tables = tables_of(
        case_of("length", 1, "Pf", length=1),
        outcomes={("p/0", 1): ("skipped", None, "the program did not load")},
    )
    broken = pl.when(pl.col("step") == 1)
    steps = tables.steps.with_columns(
        load=broken.then(pl.lit("syntax")).otherwise(pl.lit("ok")),
        load_message=broken.then(pl.lit("SyntaxError: bad")).otherwise(pl.lit("")),
    )
    broken_run = RunTables(tables.chains, steps, tables.outcomes, tables.completions)
    scored = score_recorded(retell_run(broken_run, NAMES, str), SCORINGS["reference"])
    assert scored.filter(step=1)["passed"].to_list() == [False]


def test_a_run_to_the_end_has_its_steps():
    [made] = retell(case_of("length", 2, "PPP", length=2))
    assert [step.pl for step in made.steps] == ["program 0", "program 1", "program 2"]
    assert (made.problem_id, made.function_name) == ("p", "one")


def test_a_closed_chain_has_copies_for_its_later_steps():
    [made] = retell(case_of("cycle", 2, "PPP", cycle=(1, 2), closing=(4, 4), length=5))
    assert [step.pl[-1] for step in made.steps] == ["0", "1", "2", "1", "2", "1"]


def test_a_chain_without_a_program_goes_on_with_a_syntax_error():
    [made] = retell(case_of("unparsable", 1, "P", length=2))
    assert [step.results for step in made.steps[1:]] == [(NO_PROGRAM,) * 4] * 2


def test_a_chain_that_never_had_a_program_is_there_too():
    [made] = retell(case_of("truncated", 0, "", length=1))
    assert [step.results for step in made.steps] == [(NO_PROGRAM,)] * 2


@pytest.mark.parametrize("reason", ["engine_error", "decided"])
def test_unknown_steps_are_not_there(reason):
    last = "P" if reason == "engine_error" else "Pf"
    [made] = retell(case_of(reason, 1, last, length=3))
    assert len(made.steps) == len(last)


def test_a_chain_that_the_engine_failed_at_once_is_left_out():
    assert retell(case_of("engine_error", 0, "", length=1)) == []


def test_several_chains_of_a_problem_go_by_their_own_names():
    cases = [case_of("length", 1, "PP", length=1, sample=sample) for sample in (0, 1)]
    cases.append(case_of("length", 1, "PP", length=1, problem="q"))
    assert [made.problem_id for made in retell(*cases)] == ["p/0", "p/1", "q"]


def test_a_problem_that_is_gone_is_the_users_mistake():
    with pytest.raises(UserError, match="'r' is not in the data set"):
        retell(case_of("length", 1, "PP", length=1, problem="r"))


def test_the_release_s_rules_score_a_run():
    wrong = ("fail", "1", "")
    cases = [
        case_of("length", 1, "Pf", length=1),
        case_of("length", 1, "PP", problem="q", length=1),
    ]
    report = rescore_chains("run", retell(*cases, outcomes={("p/0", 1): wrong}), "reference")
    assert (report.steps[0].passed.value, report.steps[1].sc.value) == (1.0, 0.5)


def test_where_every_test_says_pass_or_fail_both_scorings_agree_with_the_run_s_own():
    cases = [case_of("length", 2, "PPP", length=2), case_of("length", 2, "PPf", length=2)]
    cases[1].problem = "q"
    tables = tables_of(*cases, outcomes={("q/0", 2): ("fail", "1", "")})
    chains = retell_run(tables, NAMES, str)
    own = chain_metrics(tables, 2).steps[1]
    for rules in SCORINGS.values():
        last = score_recorded(chains, rules).filter(step=2)
        assert last["sc"].mean() == own.sc.value
        assert last["ssc"].mean() == own.ssc.value


@given(st.lists(bare_cases(), max_size=4, unique_by=lambda case: case.problem))
@settings(max_examples=40, deadline=None)
def test_any_run_can_be_retold_and_scored(cases):
    chains = retell_run(tables_of(*cases), dict.fromkeys("abc", "one"), str)
    assert len(chains) <= len(cases)
    for rules in SCORINGS.values():
        score_recorded(chains, rules)
