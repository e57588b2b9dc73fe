import numpy as np
import pytest
from scipy.stats import binom

from analysis.trust.calibration import measure_calibration, reliability, risk_coverage
from analysis.trust.certify import certify_threshold, upper_bound

SCORES = np.array([0.1, 0.1, 0.9, 0.9])
RIGHT = np.array([0.0, 1.0, 1.0, 1.0])


def test_proper_scores_and_error_of_a_small_case():
    found = measure_calibration(SCORES, RIGHT)
    assert found.brier == pytest.approx((0.01 + 0.81 + 0.01 + 0.01) / 4)
    assert found.skill == pytest.approx(1 - 0.21 / (0.75 * 0.25))
    assert found.ece == pytest.approx((2 * 0.4 + 2 * 0.1) / 4)
    assert found.auroc == pytest.approx((0.5 * 1 + 2) / 3)
    assert found.log_loss == pytest.approx(-(3 * np.log(0.9) + np.log(0.1)) / 4)


def test_what_is_undefined_is_null():
    found = measure_calibration(np.array([0.5]), np.array([1.0]))
    assert (found.auroc, found.skill) == (None, None)
    assert measure_calibration(np.array([]), np.array([])).brier is None


def test_a_perfect_score_of_one_is_in_the_last_bin():
    bins = reliability(np.array([1.0, 0.95]), np.array([1.0, 0.0]))
    assert (bins[-1].n, bins[-1].right, bins[0].score) == (2, 0.5, None)


def test_risk_grows_as_less_certain_answers_are_given():
    coverage, risk = risk_coverage(np.array([0.2, 0.9]), np.array([0.0, 1.0]))
    assert (coverage.tolist(), risk.tolist()) == ([0.5, 1.0], [0.0, 0.5])


def test_the_bound_is_where_so_few_errors_have_the_error_probability():
    bound = upper_bound(3, 50, 0.05)
    assert binom.cdf(3, 50, bound) == pytest.approx(0.05)


def test_the_lowest_threshold_that_holds_is_certified():
    scores = np.repeat([0.96, 0.75, 0.55], [100, 100, 100])
    right = np.repeat([True, True, False], [100, 100, 100])
    certificate = certify_threshold(scores, right, target=0.1)
    assert (certificate.threshold, certificate.answered, certificate.wrong) == (0.6, 200, 0)


def test_too_few_problems_certify_nothing():
    certificate = certify_threshold(np.full(10, 0.99), np.full(10, True), target=0.1)
    assert certificate.threshold is None
    assert str(certificate).endswith("not certifiable with these data")


def test_the_promise_is_kept_at_least_so_often_as_said():
    generator = np.random.default_rng(0)
    broken = 0
    for _ in range(300):
        scores = generator.random(200)
        certificate = certify_threshold(scores, generator.random(200) < 0.8, target=0.15)
        broken += certificate.threshold is not None  # in truth 20 % are wrong at any threshold
    assert broken <= 0.1 * 300
