import pytest
from chain_cases import MadeStep, case_of, to_tables, worlds
from hypothesis import given
from hypothesis import strategies as st

from analysis.spending import Cost, measure_spending

NOTHING = Cost(requests=0, prompt_tokens=0, completion_tokens=0, programs=0, cpu_s=0)


def spending_of(*cases, length):
    return measure_spending(to_tables(list(cases)), length)


def test_an_empty_run_costs_nothing():
    spending = spending_of(length=3)
    assert spending.spent == spending.saved == spending.saved_estimate == NOTHING


@given(worlds(), st.integers(1, 9))
def test_what_closed_chains_spent_and_saved_is_what_full_chains_cost(world, length):
    full = spending_of(world.run(length, (), "p"), length=length).spent
    stopped = spending_of(world.run(length, ("fixed_point", "cycle"), "p"), length=length)
    for amount in Cost.__slots__:
        total = getattr(stopped.spent, amount) + getattr(stopped.saved, amount)
        assert total == getattr(full, amount)


@given(worlds(), st.integers(1, 9))
def test_the_requests_that_decided_chains_left_out_are_counted(world, length):
    full = spending_of(world.run(length, (), "p"), length=length).spent
    decided = spending_of(world.run(length, ("decided",), "p"), length=length)
    assert decided.spent.requests + decided.saved_estimate.requests == full.requests
    assert decided.spent.programs + decided.saved_estimate.programs == full.programs
    assert decided.saved == NOTHING


def test_a_decided_chains_missing_tokens_are_the_mean_of_its_own_by_role():
    requests = [("generate", 0, 900), ("summarize", 1, 10), ("generate", 1, 40)]
    requests += [("summarize", 2, 20), ("generate", 2, 60)]
    case = case_of("decided", 2, "PPf", length=4, requests=requests)
    estimate = spending_of(case, length=4).saved_estimate
    assert estimate.completion_tokens == 2 * (15 + 50)
    assert estimate.prompt_tokens == 10 * estimate.completion_tokens


def test_a_later_description_costs_what_that_of_the_same_program_did():
    requests = [("generate", 0, 9), ("summarize", 1, 10), ("generate", 1, 50)]
    requests += [("summarize", 2, 30)]  # says the same as the one before, in more tokens
    case = case_of("fixed_point", 2, "PP", cycle=(1, 1), length=3, requests=requests)
    case.made.append(MadeStep(None))
    saved = spending_of(case, length=3).saved
    assert (saved.requests, saved.completion_tokens) == (3, 50 + 30 + 50)


@pytest.mark.parametrize("reason", ["unparsable", "truncated", "engine_error", "harness"])
def test_a_chain_that_failed_saved_nothing(reason):
    case = case_of(reason, 1, "P", requests=[("generate", 0, 5), ("summarize", 1, 5)])
    spending = spending_of(case, length=3)
    assert spending.saved == spending.saved_estimate == NOTHING
    assert spending.spent.requests == 2


def test_sums_beyond_32_bits_are_exact():
    case = case_of("length", 0, "P", requests=[("generate", 0, 200_000_000)] * 3)
    spent = spending_of(case, length=0).spent
    assert (spent.prompt_tokens, spent.completion_tokens) == (6_000_000_000, 600_000_000)
