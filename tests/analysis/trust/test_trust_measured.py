import numpy as np
import polars as pl
import pytest

from analysis.trust.features import GROUPS
from analysis.trust.measured import (
    BEST,
    GIVEN,
    differences,
    measure_scores,
    render_measured,
    why_not_validated,
)

PROBLEMS, SAMPLES = 12, 6


@pytest.fixture(scope="module")
def frame():
    """Features of which one, soft MBR, tells right from wrong."""
    generator = np.random.default_rng(0)
    rows = PROBLEMS * SAMPLES
    right = np.tile(np.arange(SAMPLES) < 2, PROBLEMS)
    names = [name for features in GROUPS.values() for name in features]
    columns = {name: generator.random(rows) for name in names}
    columns |= {"io_held": generator.random(rows), "mbr": right + 0.1 * generator.random(rows)}
    problem = [f"p{number:02}" for number in range(PROBLEMS) for _ in range(SAMPLES)]
    return pl.DataFrame({"problem_id": problem, "correct": right, **columns})


@pytest.fixture(scope="module")
def measured(frame):
    return measure_scores(frame)


def test_scores_stand_side_by_side_and_models_tell_right_from_wrong(measured):
    assert {"random", "CodeT", "B4", "soft MBR", "paper", BEST} <= set(measured.scores)
    assert measured.scores["random"].pass_at[1].value == pytest.approx(1 / 3)
    assert measured.scores[BEST].pass_at[1].value > 0.9


def test_without_a_group_no_model_has_its_features(frame):
    blind = measure_scores(frame, without=["soft MBR"])
    assert blind.scores[BEST].auroc.value < 0.8


def test_a_model_fitted_elsewhere_has_a_row_of_its_own_and_the_certificates(frame):
    found = measure_scores(frame, given=frame["mbr"].clip(0, 1).to_numpy())
    assert found.scores[GIVEN].pass_at[1].value == 1.0
    assert [certificate.target for certificate in found.certificates] == [0.1, 0.2, 0.3]
    assert (GIVEN, "B4") in [pair[:2] for pair in differences(found.scores)]


def test_few_problems_are_not_cross_validated_and_the_report_says_why(frame):
    few = frame.head(5 * SAMPLES)
    found = measure_scores(few)
    assert BEST not in found.scores
    assert "5 problems" in "\n".join(render_measured(found))


def test_every_fold_must_have_right_programs_to_learn_from(frame):
    two = frame.with_columns(correct=pl.col("correct") & pl.col("problem_id").is_in(["p00", "p01"]))
    assert "2 have right programs" in (why_not_validated(two) or "")
    assert why_not_validated(frame) is None


def test_figures_have_names_and_intervals_in_json(measured):
    found = measured.to_json()[BEST]
    assert set(found["pr_auc"]) == {"value", "low", "high"}
    assert "programs/ece" in found
