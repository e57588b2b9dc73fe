import polars as pl
import pytest
from chain_cases import Case, MadeStep, bare_cases, case_of, first, to_tables, worlds
from hypothesis import given
from hypothesis import strategies as st

from analysis.unroll import UNROLLED, unroll

CLOSING_RULES = ("fixed_point", "cycle")
FACTS = ("known", "passed", "tom", "match", "pfm", "sc", "ssc")


def rows_of(cases: list[Case], length: int) -> list[dict]:
    return unroll(to_tables(cases), length).collect().rows(named=True)


def column(case: Case, name: str, length: int = 3) -> list:
    return [row[name] for row in rows_of([case], length)]


def oracle(case: Case, length: int) -> list[dict]:
    """The same table by walking one chain, step after step, in plain Python."""
    lost = case.reason in ("unparsable", "truncated")
    outside = case.reason in ("prompt_too_long", "engine_error", "harness", "not_recorded")
    rows: list[dict] = []
    at, consistent, right = 0, True, True
    for step in range(length + 1):
        row = dict.fromkeys(FACTS) | {"step": step, "known": True}
        fixed = closing = False
        if step:
            at += 1
            if case.cycle and at == sum(case.cycle):
                at = case.cycle[0]
                fixed, closing = case.cycle[1] == 1, case.cycle[1] > 1
        row["source"] = at
        gone = outside and step >= case.stop_step
        if gone or (case.reason == "length" and step > case.stop_step):
            row["known"] = False
            rows.append(row)
            continue
        if lost and step >= case.stop_step:
            row["passed"] = False
            row["match"] = False if step else None
        else:
            made = case.made[at] if at < len(case.made) else MadeStep(None)
            if made.verdict is not None:
                row["passed"] = made.verdict == "pass"
                comparable, matching = made.comparable, made.matching
                if closing:
                    comparable, matching = case.closing
                if step and fixed:
                    row["tom"], row["match"] = 1.0, True
                elif step:
                    row["tom"] = matching / comparable if comparable else None
                    row["match"] = comparable > 0 and matching == comparable
            if step and None not in (row["passed"], rows[-1]["passed"]):
                row["pfm"] = row["passed"] == rows[-1]["passed"]
        if step:
            consistent = conjoin(consistent, row["match"])
            row["sc"] = consistent
        right = conjoin(right, row["passed"])
        row["ssc"] = right
        rows.append(row)
    return rows


def conjoin(so_far: bool | None, now: bool | None) -> bool | None:
    if so_far is False or now is False:
        return False
    return None if None in (so_far, now) else True


@given(st.lists(bare_cases(length=4), max_size=6), st.integers(1, 8))
def test_agrees_with_a_walk_along_each_chain(cases, length):
    for sample, case in enumerate(cases):
        case.sample = sample
    found = rows_of(cases, length)
    expected = [
        {"chain_id": c.chain_id, "problem_id": c.problem, "sample": c.sample, **row}
        for c in sorted(cases, key=lambda c: (c.problem, c.sample))
        for row in oracle(c, length)
    ]
    assert found == expected


@given(worlds(), st.integers(1, 9))
def test_a_closed_chain_scores_as_if_it_had_been_run_to_the_end(world, length):
    full = world.run(length, (), "p")
    stopped = world.run(length, CLOSING_RULES, "p")
    for name in FACTS:
        assert column(stopped, name, length) == column(full, name, length)


@given(worlds(), st.integers(1, 6), st.integers(7, 12))
def test_a_closed_chain_tells_steps_that_no_run_was_asked_for(world, length, far):
    stopped = world.run(length, CLOSING_RULES, "p")
    if stopped.cycle:
        assert column(stopped, "sc", far) == column(world.run(far, (), "p"), "sc", far)


@given(worlds(), st.integers(1, 9))
def test_a_decided_chain_never_contradicts_the_full_one(world, length):
    full = rows_of([world.run(length, (), "p")], length)
    decided = rows_of([world.run(length, ("decided", *CLOSING_RULES), "p")], length)
    for known, true in zip(decided, full, strict=True):
        assert known["sc"] == true["sc"]
        assert all(known[name] in (None, true[name]) for name in FACTS)


def test_has_the_declared_schema_even_without_chains():
    assert unroll(to_tables([]), 3).collect_schema() == UNROLLED
    assert unroll(to_tables([]), 3).collect().height == 0


def test_a_fixed_point_matches_itself_even_where_nothing_can_be_compared():
    case = Case("fixed_point", 1, [first(), MadeStep("timeout", 0, 0)], cycle=(1, 1))
    assert column(case, "tom") == [None, None, 1.0, 1.0]
    assert column(case, "match") == [None, False, True, True]
    assert column(case, "sc") == [None, False, False, False]


def test_a_cycle_closes_by_the_recorded_comparison_of_its_last_step_with_its_first():
    case = case_of("cycle", 2, "PPP", cycle=(1, 2), closing=(4, 3), length=4)
    assert column(case, "tom", 4) == [None, 1.0, 1.0, 0.75, 1.0]
    assert column(case, "sc", 4) == [None, True, True, False, False]


def test_a_cycle_without_its_closing_comparison_is_unknown_from_there_on():
    case = case_of("cycle", 2, "PPP", cycle=(1, 2), length=3)
    assert column(case, "sc") == [None, True, True, None]
    assert column(case, "pfm") == [None, True, True, True]


def test_a_transition_without_comparable_tests_does_not_hold_and_has_no_tom():
    case = Case("length", 1, [first(), MadeStep("timeout", 0, 0)], length=1)
    assert column(case, "tom", 1) == [None, None]
    assert column(case, "sc", 1) == [None, False]


@pytest.mark.parametrize("reason", ["unparsable", "truncated"])
def test_no_program_is_neither_consistent_nor_right(reason):
    case = case_of(reason, 2, "PP")
    assert column(case, "sc") == [None, True, False, False]
    assert column(case, "ssc") == [True, True, False, False]
    assert column(case, "tom") == [None, 1.0, None, None]
    assert column(case, "pfm") == [None, True, None, None]


def test_no_program_at_step_0_fails_everything():
    case = case_of("unparsable", 0)
    assert column(case, "passed") == [False] * 4
    assert column(case, "sc") == [None, False, False, False]


def test_half_a_program_counts_as_none_although_it_ran():
    case = case_of("truncated", 1, "PP")
    assert column(case, "ssc") == [True, False, False, False]
    assert column(case, "tom") == [None, None, None, None]


@pytest.mark.parametrize("reason", ["prompt_too_long", "engine_error", "harness", "not_recorded"])
def test_a_fault_that_is_not_the_models_leaves_even_settled_scores(reason):
    case = case_of(reason, 2, "Pf")
    assert column(case, "sc") == [None, False, None, None]
    assert column(case, "ssc") == [True, False, None, None]
    assert column(case, "known") == [True, True, False, False]


def test_a_decided_chain_that_passed_so_far_has_no_later_strong_score():
    case = case_of("decided", 1, "Pp")
    assert column(case, "ssc") == [True, True, None, None]
    assert column(case, "sc") == [None, False, False, False]


def test_a_decided_chain_that_failed_once_is_settled():
    case = case_of("decided", 1, "Pf")
    assert column(case, "ssc") == [True, False, False, False]


def test_a_full_chain_says_nothing_beyond_its_length():
    assert column(case_of("length", 1, "Pf", length=1), "sc", 2) == [None, False, None]


def test_chains_do_not_leak_into_each_other():
    cases = [case_of("length", 1, "Pf", sample=0), case_of("length", 1, "PP", sample=1)]
    frame = unroll(to_tables(cases), 1).collect().filter(pl.col("step") == 1)
    assert frame["sc"].to_list() == [False, True]
