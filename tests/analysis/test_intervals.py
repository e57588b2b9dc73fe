import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.intervals import (
    Estimate,
    bootstrap_interval,
    estimate_means,
    exact_interval,
    wilson_interval,
)


def estimate(values, *, binary=True, seed=0) -> Estimate:
    column = np.array(values, dtype=float)[:, None]
    return estimate_means(column, counts=[len(values)], binary=[binary], of=99, seed=seed)[0]


def binomial(n: int, k: int, p: float) -> float:
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


def test_exact_interval_agrees_with_published_values():
    assert exact_interval(8, 10) == pytest.approx((0.4439, 0.9748), abs=5e-5)
    assert exact_interval(0, 10) == pytest.approx((0.0, 1 - 0.025 ** (1 / 10)), abs=1e-12)


def test_wilson_interval_agrees_with_published_values():
    assert wilson_interval(8, 10) == pytest.approx((0.4902, 0.9433), abs=5e-5)


@given(st.integers(1, 29), st.floats(0.001, 0.999))
def test_exact_interval_covers_at_least_as_often_as_it_says(n, p):
    covered = [k for k in range(n + 1) if exact_interval(k, n)[0] <= p <= exact_interval(k, n)[1]]
    assert sum(binomial(n, k, p) for k in covered) >= 0.95


@given(st.integers(1, 40), st.data())
def test_intervals_hold_their_value_and_mirror(n, data):
    k = data.draw(st.integers(0, n))
    for interval in (exact_interval, wilson_interval):
        low, high = interval(k, n)
        assert 0 <= low <= k / n <= high <= 1
        assert interval(n - k, n) == pytest.approx((1 - high, 1 - low))


def test_exact_interval_of_many_unanimous_problems_is_found():
    low, high = exact_interval(20_000, 20_000)
    assert (low, high) == pytest.approx((0.025 ** (1 / 20_000), 1.0))


def test_few_yes_no_problems_are_exact():
    found = estimate([1, 0, 1, 1])
    assert (found.value, found.method) == (0.75, "exact")
    assert (found.low, found.high) == exact_interval(3, 4)


def test_few_graded_problems_take_wilson():
    found = estimate([0.5, 0.25, 1.0], binary=False)
    assert (found.value, found.method) == (pytest.approx(1.75 / 3), "wilson")


def test_thirty_problems_take_the_bootstrap():
    assert estimate([1, 0] * 15).method == "bootstrap"
    assert estimate([1, 0] * 14 + [1]).method == "exact"


def test_missing_problems_do_not_count_towards_thirty():
    assert estimate([1, 0] * 14 + [float("nan")] * 9).method == "exact"


def test_unanimity_is_not_certainty_whatever_the_number():
    found = estimate([1.0] * 200)
    assert (found.high, found.method) == (1.0, "exact")
    assert found.low == pytest.approx(0.025 ** (1 / 200))
    assert estimate([0.5] * 200, binary=False).method == "wilson"


def test_a_score_that_no_problem_has_is_undefined():
    found = estimate([float("nan")] * 40)
    assert (found.value, found.low, found.high, found.method) == (None,) * 4


def test_bootstrap_ends_lie_where_the_normal_law_puts_them():
    values = np.random.default_rng(1).random(4000)
    error = 1.96 * values.std() / math.sqrt(len(values))
    low, high = bootstrap_interval(values)
    assert low == pytest.approx(values.mean() - error, abs=0.1 * error)
    assert high == pytest.approx(values.mean() + error, abs=0.1 * error)


def test_bootstrap_draws_as_resampling_problem_by_problem_does():
    values = np.array([0.0, 0.5, np.nan, 1.0] * 10)
    draws = np.random.default_rng(7).integers(40, size=(20_000, 40))
    plain = np.quantile(np.nanmean(values[draws], axis=1), [0.025, 0.975])
    assert bootstrap_interval(values, resamples=20_000) == pytest.approx(plain, abs=0.01)


def test_bootstrap_repeats_by_its_seed_in_any_order_of_problems():
    values = np.random.default_rng(3).random(50)
    assert bootstrap_interval(values, seed=5) == bootstrap_interval(values[::-1], seed=5)
    assert bootstrap_interval(values, seed=5) != bootstrap_interval(values, seed=6)


def test_bootstrap_in_portions_is_the_bootstrap_at_once(monkeypatch):
    values = np.random.default_rng(3).random(50)
    whole = bootstrap_interval(values)
    monkeypatch.setattr("analysis.intervals._CELLS_AT_ONCE", 170)
    assert bootstrap_interval(values) == whole
