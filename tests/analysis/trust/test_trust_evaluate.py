import numpy as np
import polars as pl
import pytest

from analysis.trust.evaluate import compare, evaluate
from analysis.trust.report import render_calibration, render_differences, render_scores


@pytest.fixture(scope="module")
def frame():
    generator = np.random.default_rng(2)
    return pl.DataFrame(
        {
            "problem_id": np.repeat([f"p{n:02}" for n in range(40)], 10),
            "correct": generator.random(400) < 0.4,
        }
    )


@pytest.fixture(scope="module")
def perfect(frame):
    right = frame["correct"].cast(pl.Float64).to_numpy()
    return evaluate("perfect", frame, [0.05 + 0.9 * right], probability=True)


@pytest.fixture(scope="module")
def random(frame):
    return evaluate("random", frame, [np.zeros(frame.height)], probability=False)


def test_a_perfect_score_finds_every_right_program(frame, perfect):
    solvable = frame.group_by("problem_id").agg(pl.col("correct").any())["correct"].mean()
    assert perfect.pass_at[1].value == pytest.approx(solvable)
    assert perfect.auroc.value == 1.0
    assert perfect.programs.ece == pytest.approx(0.05)


def test_a_constant_score_is_chance_and_has_no_calibration(frame, random):
    assert random.pass_at[1].value == pytest.approx(frame["correct"].mean())
    assert random.programs is None


def test_intervals_hold_the_value(random):
    for figure in (*random.pass_at.values(), random.area, random.max_f1):
        assert figure.low <= figure.value <= figure.high


def test_differences_are_paired_by_problem(perfect, random):
    assert compare(perfect, perfect)[0].high == 0.0
    assert compare(perfect, random)[0].low > 0.0


def test_the_report_has_a_line_a_score(perfect, random):
    lines = render_scores([random, perfect]).splitlines()
    assert [line.split()[0] for line in lines] == ["score", "random", "perfect"]
    assert len(render_calibration([random, perfect]).splitlines()) == 1 + 2
    pair = render_differences([("perfect", "random", *compare(perfect, random))])
    assert "perfect - random" in pair
