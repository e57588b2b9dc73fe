from itertools import permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.trust.selection import pass_at, precision_recall_at, select


def make_frame(*problems):
    rows = [
        {"problem_id": str(n), "score": float(score), "correct": bool(right)}
        for n, samples in enumerate(problems)
        for score, right in samples
    ]
    return pl.DataFrame(rows)


def test_equal_scores_are_in_random_order():
    chosen = select(make_frame([(1, 1), (1, 0), (0, 1)]), "score")
    assert chosen.top_right.tolist() == [0.5]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=5), st.integers(1, 5)
)
def test_pass_at_k_is_the_mean_over_all_orders_of_ties(samples, k):
    orders = [sorted(order, key=lambda sample: -sample[0]) for order in permutations(samples)]
    expected = np.mean([any(right for _, right in order[:k]) for order in orders])
    assert pass_at(make_frame(samples), "score", k)[0] == pytest.approx(expected)


def test_the_curve_at_falling_thresholds():
    frame = make_frame([(0.9, 1)], [(0.8, 0), (0.1, 1)], [(0.5, 1)], [(0.4, 0)])
    curve = select(frame, "score").curve()
    assert curve.thresholds.tolist() == [0.9, 0.8, 0.5, 0.4]
    assert curve.precision.tolist() == pytest.approx([1, 1 / 2, 2 / 3, 1 / 2])
    assert curve.recall.tolist() == pytest.approx([1 / 3, 1 / 3, 2 / 3, 2 / 3])
    assert curve.area == pytest.approx(1 / 3 + 2 / 9)
    assert curve.max_f1 == pytest.approx(2 / 3)
    assert curve.recall_at(0.9) == pytest.approx(1 / 3)


def test_without_a_right_program_recall_and_area_are_null():
    curve = select(make_frame([(0.9, 0)]), "score").curve()
    assert (curve.area, curve.max_f1, curve.recall_at(0.9)) == (None, None, None)


def test_a_resample_counts_a_problem_as_often_as_it_was_drawn():
    frame = make_frame([(0.9, 1)], [(0.8, 0), (0.1, 1)])
    assert select(frame, "score").curve(np.array([2, 0])).area == 1.0
    assert select(frame, "score").curve(np.array([1, 3])).area == pytest.approx(1 / 4)


@pytest.mark.parametrize(
    ("k", "threshold", "expected"),
    [
        (1, 0.5, (1 / 2, 1 / 3, 2)),
        (2, 0.5, (1 / 2, 1 / 3, 2)),
        (2, 0.1, (2 / 3, 2 / 3, 3)),
        (1, 1.0, (None, 0.0, 0)),
    ],
)
def test_precision_and_recall_at_k_count_right_ones_over_the_threshold(k, threshold, expected):
    frame = make_frame([(0.9, 1)], [(0.8, 0), (0.2, 1)], [(0.3, 0), (0.05, 1)])
    assert precision_recall_at(frame, "score", k, threshold) == pytest.approx(expected)
