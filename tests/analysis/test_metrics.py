import json
from itertools import combinations

import numpy as np
import pytest
from chain_cases import Case, MadeStep, case_of, first, to_tables, worlds
from hypothesis import given
from hypothesis import strategies as st

from analysis import ChainMetrics, chain_metrics
from analysis.metrics import pass_at_k
from conf import UserError


def metrics_of(*cases: Case, length: int = 3, **options) -> ChainMetrics:
    return chain_metrics(to_tables(list(cases)), length, **options)


def share(estimate) -> tuple[float | None, int, int]:
    return estimate.value, estimate.n, estimate.of


def test_an_empty_run_has_no_scores():
    metrics = metrics_of()
    assert (metrics.problems, metrics.chains, metrics.endings) == (0, 0, ())
    assert share(metrics.pass_at[1]) == (None, 0, 0)
    assert share(metrics.steps[2].sc) == (None, 0, 0)


def test_scores_of_a_small_run_by_hand():
    metrics = metrics_of(
        case_of("length", 2, "PPP", problem="a", length=2),
        case_of("length", 2, "PPf", problem="b", length=2),
        case_of("length", 2, "FFF", problem="c", length=2),
        case_of("engine_error", 1, "P", problem="d", length=2),
        length=2,
    )
    assert share(metrics.pass_at[1]) == (0.75, 4, 4)
    assert share(metrics.steps[0].tom) == (1.0, 3, 4)
    assert share(metrics.steps[1].tom) == (pytest.approx((1 + 0.25 + 1) / 3), 3, 4)
    assert share(metrics.steps[1].sc) == (pytest.approx(2 / 3), 3, 4)
    assert share(metrics.steps[1].ssc) == (pytest.approx(1 / 3), 3, 4)
    assert share(metrics.steps[1].pfm) == (pytest.approx(2 / 3), 3, 4)


def test_the_two_readings_of_sc_1_stand_apart():
    half = Case("length", 1, [first(), MadeStep("pass", 4, 2)], length=1, problem="a")
    whole = case_of("length", 1, "PP", length=1, problem="b")
    scores = metrics_of(half, whole, length=1).steps[0]
    assert (scores.tom.value, scores.sc.value) == (0.75, 0.5)


def test_each_problem_weighs_the_same_whatever_its_number_of_chains():
    many = [case_of("length", 0, "P", problem="a", sample=i, length=0) for i in range(9)]
    metrics = metrics_of(*many, case_of("length", 0, "F", problem="b", length=0), length=0)
    assert share(metrics.pass_at[1]) == (0.5, 10, 10)
    assert metrics.pass_at[1].method == "wilson"


@given(st.integers(1, 7), st.data())
def test_pass_at_k_is_the_share_of_draws_with_a_right_program(n, data):
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    draws = list(combinations(range(n), k))
    expected = sum(any(i < c for i in draw) for draw in draws) / len(draws)
    assert pass_at_k(np.array([float(n)]), np.array([float(c)]), k)[0] == pytest.approx(expected)


def test_pass_at_k_leaves_out_problems_with_fewer_samples():
    cases = [case_of("length", 0, "P", problem="a", sample=i, length=0) for i in range(2)]
    cases += [case_of("length", 0, "F", problem="b", length=0)]
    metrics = metrics_of(*cases, length=0, ks=(1, 2, 3))
    assert share(metrics.pass_at[2]) == (1.0, 2, 3)
    assert share(metrics.pass_at[3]) == (None, 0, 3)


def test_endless_scores_of_closed_chains_and_their_bounds_for_all():
    metrics = metrics_of(
        case_of("fixed_point", 1, "PP", problem="a", cycle=(1, 1)),
        case_of("cycle", 2, "PPP", problem="b", cycle=(1, 2), closing=(4, 3)),
        case_of("length", 3, "PPPP", problem="c"),
        case_of("length", 3, "PPPf", problem="d"),
        case_of("harness", 0, problem="e"),
    )
    assert metrics.endless.closed == 2
    assert share(metrics.endless.sc) == (0.5, 2, 5)
    assert share(metrics.endless.at_least) == (0.25, 4, 5)
    assert share(metrics.endless.at_most) == (0.5, 4, 5)


def test_a_chain_that_closes_at_the_last_step_has_an_endless_score():
    case = case_of("cycle", 3, "PPPP", cycle=(1, 3), closing=(4, 4))
    assert share(metrics_of(case).endless.sc) == (1.0, 1, 1)


def test_endless_scores_do_not_depend_on_the_length_reported():
    case = case_of("cycle", 3, "PPPP", cycle=(0, 4), closing=(4, 3))
    assert share(metrics_of(case, length=1).endless.sc) == (0.0, 1, 1)


@given(st.lists(worlds(), min_size=1, max_size=4), st.integers(1, 6))
def test_early_stop_changes_no_score(chains, length):
    scores = []
    for stop in ((), ("fixed_point", "cycle")):
        cases = [world.run(length, stop, str(i)) for i, world in enumerate(chains)]
        metrics = metrics_of(*cases, length=length)
        scores.append((metrics.pass_at, metrics.steps))
    assert scores[0] == scores[1]


@given(worlds(), st.integers(1, 6))
def test_endless_bounds_hold_the_truth(world, length):
    metrics = metrics_of(world.run(length, ("fixed_point", "cycle"), "p"), length=length)
    far = world.run(40, (), "p")
    truth = all(made.comparable == made.matching for made in far.made)
    assert metrics.endless.at_least.value <= truth <= metrics.endless.at_most.value
    assert metrics.endless.sc.value in (None, truth)


def test_endings_are_counted_in_a_fixed_order_with_their_mean_step():
    metrics = metrics_of(
        case_of("truncated", 1, "P", problem="a"),
        case_of("decided", 1, "Pf", problem="b"),
        case_of("decided", 2, "PPf", problem="c"),
    )
    found = [(ending.reason, ending.chains, ending.mean_step) for ending in metrics.endings]
    assert found == [("decided", 2, 1.5), ("truncated", 1, 1.0)]


def test_json_has_null_for_undefined_and_no_numbers_that_json_lacks():
    content = metrics_of(case_of("harness", 0), ks=(1, 5)).to_json()
    text = json.dumps(content, allow_nan=False)
    assert json.loads(text)["pass_at"]["5"]["value"] is None
    assert content["steps"][0]["sc"] == {
        "value": None,
        "low": None,
        "high": None,
        "n": 0,
        "of": 1,
        "method": None,
    }


def test_json_does_not_depend_on_the_order_of_rows():
    cases = [case_of("length", 1, "Pf" if i % 3 else "PP", problem=f"p{i}", length=1)
             for i in range(40)]  # fmt: skip
    one = metrics_of(*cases, length=1).to_json()
    other = metrics_of(*cases[::-1], length=1).to_json()
    assert json.dumps(one) == json.dumps(other)


def test_a_length_beyond_the_run_is_refused():
    with pytest.raises(ValueError, match="beyond a run of 3 steps"):
        metrics_of(case_of("length", 3, "PPPP"), length=4)


def test_contradicting_tables_are_refused():
    with pytest.raises(UserError, match="contradict"):
        metrics_of(case_of("length", 3, "PPPP"), case_of("length", 3, "PPPP"))
