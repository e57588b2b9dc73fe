import polars as pl
import pytest

from analysis.audit import audit_run, render_audit
from analysis.tables import CHAINS, COMPLETIONS, OUTCOMES, STEPS, RunTables

KEY = {"chain_id": "p/0", "problem_id": "p", "sample": 0}


def tables(texts, programs=(), values=()):
    """A chain by its answers (role, step, prompt, text), programs and outcomes by step from 1."""
    completions = [
        {**KEY, "step": step, "role": role, "prompt_key": key, "text": text}
        for role, step, key, text in texts
    ]
    steps = [
        {**KEY, "step": step, "pl": pl_, "verdict": "pass"} for step, pl_ in enumerate(programs, 1)
    ]
    outcomes = [
        {**KEY, "step": step, "test_id": str(test), "kind": "value", "encoding": value}
        for step, row in enumerate(values, 1)
        for test, value in enumerate(row)
    ]
    return RunTables(
        chains=pl.LazyFrame(schema=CHAINS),
        steps=pl.LazyFrame(steps, schema=STEPS),
        outcomes=pl.LazyFrame(outcomes, schema=OUTCOMES),
        completions=pl.LazyFrame(completions, schema=COMPLETIONS),
    )


def test_a_prompt_that_came_back_with_the_same_answer_is_no_contradiction():
    audit = audit_run(tables([("generate", 0, "a", "x"), ("generate", 2, "a", "x")]))
    assert (audit.chains, audit.answers, audit.contradictions) == (1, 1, ())


def test_another_answer_to_the_same_prompt_is_a_contradiction():
    texts = [("summarize", 1, "a", "x"), ("summarize", 2, "a", "x"), ("summarize", 3, "a", "y")]
    assert audit_run(tables(texts)).contradictions == (("p/0", 3, "summarize"),)


@pytest.mark.parametrize("other", [("generate", 1, "b", "y"), ("summarize", 1, "a", "y")])
def test_other_prompts_and_roles_are_not_compared(other):
    audit = audit_run(tables([("generate", 0, "a", "x"), other]))
    assert (audit.chains, audit.answers) == (0, 0)


def test_a_request_without_an_answer_contradicts_nothing():
    assert audit_run(tables([("generate", 0, "a", "x"), ("generate", 1, "a", None)])).answers == 0


def test_the_same_program_with_other_outcomes_is_a_contradiction():
    audit = audit_run(tables([], ["p", "q", "p"], [["1", "2"], ["5", "5"], ["1", "3"]]))
    assert (audit.programs, audit.contradictions) == (1, (("p/0", 3, "outcomes"),))


def test_the_same_program_with_the_same_outcomes_is_none():
    audit = audit_run(tables([], ["p", "p"], [["1", None], ["1", None]]))
    assert (audit.programs, audit.contradictions) == (1, ())


def test_contradictions_are_shown_by_chain_and_step():
    texts = [("generate", 0, "a", "x"), ("generate", 1, "a", "y")]
    assert "p/0, step 1: another generate" in render_audit(audit_run(tables(texts))).plain
