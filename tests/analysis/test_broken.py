import polars as pl
from chain_cases import Case, MadeStep, bare_cases, case_of, first, good, to_tables
from hypothesis import given

from analysis.broken import BROKEN, broken_chains
from analysis.unroll import unroll


def broken(*cases, length=3):
    return broken_chains(to_tables(list(cases)), length)


def test_the_first_transition_that_differs_is_named_with_its_first_test():
    (row,) = broken(case_of("length", 3, "PPpp")).iter_rows(named=True)
    assert (row["from_step"], row["to_step"], row["reason"]) == (1, 2, "outputs")
    assert (row["differing"], row["comparable"], row["test_id"]) == (3, 4, "1")


def test_a_chain_that_keeps_its_behaviour_is_not_listed():
    found = broken(case_of("length", 3, "PPPP"), case_of("fixed_point", 1, "PP", cycle=(1, 1)))
    assert found.height == 0
    assert found.schema == BROKEN


def test_an_answer_without_a_program_breaks_the_chain_there():
    (row,) = broken(case_of("unparsable", 2, "PP")).iter_rows(named=True)
    assert (row["from_step"], row["to_step"], row["reason"]) == (1, 2, "unparsable")
    assert (row["differing"], row["test_id"]) == (None, None)


def test_a_chain_without_any_program_broke_before_its_first_transition():
    (row,) = broken(case_of("truncated", 0)).iter_rows(named=True)
    assert (row["from_step"], row["to_step"], row["reason"]) == (None, 0, "truncated")


def test_programs_that_cannot_be_compared_have_not_kept_anything():
    case = Case("length", 1, [first(), MadeStep("fail", 0, 0)], length=1)
    (row,) = broken(case, length=1).iter_rows(named=True)
    assert (row["reason"], row["differing"]) == ("incomparable", 0)


def test_a_cycle_that_breaks_only_where_it_closes_is_told_by_its_counts():
    case = Case("cycle", 3, [first(), good(), good()], cycle=(1, 2), closing=(4, 1))
    (row,) = broken(case).iter_rows(named=True)
    assert (row["from_step"], row["to_step"], row["reason"]) == (2, 1, "closing")
    assert (row["differing"], row["test_id"]) == (3, None)


def test_a_failure_that_is_not_the_models_is_no_break():
    assert broken(case_of("harness", 1, "P"), case_of("engine_error", 2, "PP")).height == 0


@given(bare_cases())
def test_a_chain_is_listed_exactly_when_some_transition_does_not_match(case):
    tables = to_tables([case])
    lost = unroll(tables, case.length).filter(~pl.col("match")).collect().height > 0
    assert broken_chains(tables, case.length).height == lost
