import numpy as np
import pytest

from analysis.trust.calibration import measure_calibration
from analysis.trust.calibration_intervals import FIGURES, calibration_figures
from analysis.trust.curves import precision_by_recall, risk_by_coverage
from analysis.trust.figures import draw_problems
from analysis.trust.selection import Selection

PROBLEMS = 40


@pytest.fixture(scope="module")
def draws():
    return draw_problems(PROBLEMS, 0)


@pytest.fixture(scope="module")
def form():
    generator = np.random.default_rng(4)
    scores = generator.random(PROBLEMS * 5)
    return scores, (generator.random(PROBLEMS * 5) < scores).astype(float)


def test_calibration_figures_are_those_of_the_whole_and_inside_their_intervals(draws, form):
    found = calibration_figures([form], np.repeat(np.arange(PROBLEMS), 5), draws)
    whole = measure_calibration(*form)
    for name in FIGURES:
        assert found[name].value == pytest.approx(getattr(whole, name))
    assert found["brier"].low < found["brier"].value < found["brier"].high


def test_a_resample_is_the_figure_of_the_rows_drawn(form):
    problem, drawn = np.repeat(np.arange(PROBLEMS), 5), np.zeros((1, PROBLEMS), dtype=np.int64)
    drawn[0, :2] = 3, 1
    rows = np.r_[np.tile(np.arange(5), 3), 5:10]
    expected = measure_calibration(form[0][rows], form[1][rows])
    found = calibration_figures([form], problem, drawn)
    assert (found["brier"].low, found["skill"].low) == pytest.approx(
        (expected.brier, expected.skill)
    )


def test_skill_is_null_where_all_are_right(draws):
    scores = np.full(PROBLEMS, 0.9)
    found = calibration_figures([(scores, np.ones(PROBLEMS))], np.arange(PROBLEMS), draws)
    assert (found["skill"].value, found["ece"].value) == (None, pytest.approx(0.1))


def selection(right):
    best = np.linspace(0.9, 0.1, len(right))
    solvable = np.array([True] * len(right))
    return Selection(
        [str(n) for n in range(len(right))], best, np.array(right, dtype=float), solvable
    )


def test_risk_is_that_of_the_surest_answers(draws):
    found = risk_by_coverage(selection([1.0] * 20 + [0.0] * 20), draws)
    assert (found[0.5].value, found[1.0].value) == (0.0, 0.5)
    assert found[1.0].low < 0.5 < found[1.0].high


def test_precision_is_null_where_the_recall_is_never_reached(draws):
    found = precision_by_recall(selection([1.0] * 20 + [0.0] * 20), draws)
    assert (found[0.5].value, found[0.6].value) == (1.0, None)
