import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from analysis.trust.keeping import KeptModel
from analysis.trust.linear import fit_linear
from analysis.trust.models import BoostedModel, PooledModel, TwoStageModel, cross_predict
from analysis.trust.trees import GROWING, grow_forest
from conf import UserError

FEATURES = ("signal", "noise", "problem_ease")


@pytest.fixture(scope="module")
def frame():
    """Sixty problems of 20 programs; ease decides how many are right, signal which."""
    generator = np.random.default_rng(1)
    ease = np.repeat(generator.normal(size=60), 20)
    signal = generator.normal(size=1200)
    odds = 2 * signal + 2 * ease
    return pl.DataFrame(
        {
            "problem_id": np.repeat([f"p{n:02}" for n in range(60)], 20),
            "signal": signal,
            "noise": generator.normal(size=1200),
            "problem_ease": ease,
            "correct": generator.random(1200) < 1 / (1 + np.exp(-odds)),
        }
    )


@pytest.mark.parametrize("kind", [PooledModel, TwoStageModel, BoostedModel])
def test_a_model_tells_right_from_wrong_on_problems_it_has_not_seen(frame, kind):
    predicted = cross_predict(kind(FEATURES), frame)
    right = frame["correct"].to_numpy()
    assert predicted[right].mean() > predicted[~right].mean() + 0.25


def test_a_problem_is_never_on_both_sides(frame):
    class Spy:
        def fit(self, train):
            self.seen = set(train["problem_id"])
            return self

        def predict(self, test):
            assert not self.seen & set(test["problem_id"])
            return np.zeros(test.height)

    assert not np.isnan(cross_predict(Spy(), frame)).any()


def test_a_missing_feature_counts_as_the_mean():
    matrix = np.array([[0.0], [2.0], [np.nan], [0.0], [2.0]])
    linear = fit_linear(matrix, [False, True, True, False, True], c=1.0)
    assert linear.probability(np.array([[np.nan]])) == pytest.approx(
        linear.probability(np.array([[1.0]]))
    )


@pytest.mark.parametrize("kind", ["pooled", "two_stage", "boosted"])
def test_a_kept_model_predicts_the_same_without_labels(frame, tmp_path, kind):
    model = KeptModel.fit(kind, FEATURES, frame).recalibrate(frame)
    model.save(tmp_path / "model.json")
    again = KeptModel.load(tmp_path / "model.json")
    unlabelled = frame.drop("correct")
    assert again.predict(unlabelled).tolist() == model.predict(unlabelled).tolist()


def test_a_file_that_is_no_model_is_refused(tmp_path):
    (tmp_path / "model.json").write_text('{"kind": "pooled"}')
    with pytest.raises(UserError, match="is no trust model"):
        KeptModel.load(tmp_path / "model.json")


def test_recalibration_mends_a_shifted_base_rate(frame):
    model = KeptModel.fit("pooled", ("signal", "noise"), frame)
    hard = frame.filter(pl.col("problem_ease") < -0.5)
    truth = hard["correct"].mean()
    before = abs(model.predict(hard).mean() - truth)
    after = abs(model.recalibrate(hard).predict(hard).mean() - truth)
    assert after < 0.02 < before


def test_recalibration_needs_both_kinds(frame):
    model = KeptModel.fit("pooled", FEATURES, frame)
    with pytest.raises(UserError, match="right and wrong"):
        model.recalibrate(frame.filter("correct"))


def test_drift_of_the_base_rate_is_told_and_its_absence_is_not(frame):
    model = KeptModel.fit("pooled", FEATURES, frame)
    assert model.drift(frame) is None
    assert "recalibrate" in (model.drift(frame.filter(pl.col("problem_ease") < -0.5)) or "")


def test_kept_trees_say_what_the_library_says(frame):
    matrix = frame.select(FEATURES).to_numpy()
    matrix[::7, 0] = np.nan
    right = frame["correct"].to_list()
    grown = HistGradientBoostingClassifier(**GROWING, random_state=3).fit(matrix, right)
    kept = grow_forest(matrix, right, seed=3).probability(matrix)
    assert kept == pytest.approx(grown.predict_proba(matrix)[:, 1])
