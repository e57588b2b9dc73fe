import polars as pl
import pytest
from chain_cases import case_of, to_tables
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from recorded_cases import HUMAN_JUDGE, chain, step
from rich.console import Console

from analysis.correlate import LABELS, SUBSETS, correlate, read_labels, render_correlations
from analysis.recorded import read_recorded
from analysis.reference import rules_of
from analysis.score_tables import recorded_scores, run_scores
from analysis.text_pairs import FIRST
from conf import UserError

COEFFICIENTS = ("pearson", "spearman", "kendall")
whole = st.integers(-5, 5)


def scores_of(values, passed=None, samples=None):
    return pl.DataFrame(
        {
            "problem_id": [f"p{i}" for i in range(len(values))],
            "sample": samples or [0] * len(values),
            "passed": passed or [True] * len(values),
            "m": values,
        },
        schema_overrides={"sample": pl.Int32, "m": pl.Float64},
    )


def labels_of(values, samples=None):
    rows = {
        "problem_id": [f"p{i}" for i in range(len(values))],
        "sample": samples or [None] * len(values),
        "label": values,
    }
    return pl.DataFrame(rows, schema=LABELS)


def on_all(values, labels):
    return correlate(scores_of(values), labels_of(labels)).rows[0]


@st.composite
def series(draw):
    size = draw(st.integers(3, 12))
    values = draw(st.lists(whole, min_size=size, max_size=size))
    labels = draw(st.lists(whole, min_size=size, max_size=size))
    assume(len(set(values)) > 1 and len(set(labels)) > 1)
    return values, labels


@given(series(), st.integers(1, 9), whole)
@settings(deadline=None, max_examples=40)
def test_no_coefficient_sees_another_unit_of_the_labels(pair, factor, shift):
    values, labels = pair
    before, after = on_all(values, labels), on_all(values, [factor * x + shift for x in labels])
    for name in COEFFICIENTS:
        assert getattr(after, name) == pytest.approx(getattr(before, name))


@given(series())
@settings(deadline=None, max_examples=40)
def test_ranks_do_not_see_how_far_labels_are_apart(pair):
    values, labels = pair
    before, after = on_all(values, labels), on_all(values, [x**3 for x in labels])
    assert after.spearman == pytest.approx(before.spearman)
    assert after.kendall == pytest.approx(before.kendall)


@given(series())
@settings(deadline=None, max_examples=40)
def test_opposite_labels_give_opposite_coefficients(pair):
    values, labels = pair
    before, after = on_all(values, labels), on_all(values, [-x for x in labels])
    for name in COEFFICIENTS:
        assert getattr(after, name) == pytest.approx(-getattr(before, name))


@given(series(), st.randoms())
@settings(deadline=None, max_examples=40)
def test_the_order_of_the_labels_is_no_matter(pair, random):
    values, labels = pair
    table = labels_of(labels)
    order = list(range(len(labels)))
    random.shuffle(order)
    assert correlate(scores_of(values), table[order]) == correlate(scores_of(values), table)


def test_values_worked_out_by_hand():
    row = on_all([1, 2, 3, 4], [1, 3, 2, 4])
    assert (row.pearson, row.spearman) == (pytest.approx(0.8), pytest.approx(0.8))
    assert row.kendall == pytest.approx((5 - 1) / 6)


@pytest.mark.parametrize(
    ("values", "labels", "reason"),
    [
        ([2, 2, 2], [1, 2, 3], "the metric is 2 in every row"),
        ([1, 2, 3], [0, 0, 0], "the label is 0 in every row"),
        ([1, 2], [1, 2], "fewer than 3 rows"),
        ([1, 2, None], [1, 2, 3], "fewer than 3 rows"),
    ],
)
def test_what_is_undefined_says_why(values, labels, reason):
    row = on_all(values, labels)
    assert (row.pearson, row.spearman, row.kendall, row.reason) == (None, None, None, reason)


def test_subsets_are_by_the_first_program():
    scores = scores_of([1, 2, 3, 5, 4], passed=[True, True, True, False, False])
    rows = correlate(scores, labels_of([1, 2, 3, 4, 5])).rows
    assert [(row.subset, row.n) for row in rows] == list(zip(SUBSETS, (5, 3, 2), strict=True))


def test_what_does_not_meet_is_counted():
    found = correlate(scores_of([1, 2, 3, 4]), labels_of([1, 2, 3, 4])[1:3])
    assert (found.labelled, found.unlabelled, found.unused) == (2, 2, 0)
    found = correlate(scores_of([1, 2, 3]), labels_of([1, 2, 3, 4]))
    assert (found.labelled, found.unlabelled, found.unused) == (3, 0, 1)


def test_labels_with_samples_meet_chains_by_both():
    scores = scores_of([1, 2, 3], samples=[0, 1, 2])
    assert correlate(scores, labels_of([1, 2, 3], samples=[0, 1, 1])).labelled == 2


def test_labels_without_samples_do_not_fit_several_chains_a_problem():
    scores = pl.concat([scores_of([1]), scores_of([2], samples=[1])])
    with pytest.raises(UserError, match="need a column sample"):
        correlate(scores, labels_of([1]))


def test_labels_of_other_problems_are_the_users_mistake():
    with pytest.raises(UserError, match="no label fits"):
        correlate(scores_of([1]), labels_of([1, 2])[1:])


def test_a_csv_file_is_read_with_and_without_samples(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("problem_id,note,label\np0,x,true\np1,y,0.5\n")
    assert read_labels(path).rows() == [("p0", None, 1.0), ("p1", None, 0.5)]
    path.write_text("sample,label,problem_id\n1,0,p0\n0,False,p0\n")
    assert read_labels(path).rows() == [("p0", 1, 0.0), ("p0", 0, 0.0)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read as CSV"),
        ("problem_id,mark\np,1\n", "no column 'label'"),
        ("problem_id,label\np,good\n", "row 1: sample and label must be numbers"),
        ("problem_id,label\np,1\nq,\n", "row 2: sample and label must be numbers"),
        ("problem_id,label\np,nan\n", "row 1: label 'nan' is not a finite number"),
        ("problem_id,label\n,1\n", "row 1: problem_id is empty"),
        ("problem_id,sample,label\np,first,1\n", "row 1: sample and label must be numbers"),
        ("problem_id,label\np,1\np,0\n", "'p' has more than one label"),
    ],
)
def test_a_bad_csv_file_is_the_users_mistake(tmp_path, text, message):
    path = tmp_path / "labels.csv"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        read_labels(path)


def test_a_missing_csv_file_is_the_users_mistake(tmp_path):
    with pytest.raises(UserError, match="cannot be read"):
        read_labels(tmp_path / "no.csv")


def test_the_table_fits_a_terminal_and_explains_its_gaps():
    values = [-1.0, 1.0, 1.0, -1.0, 1.0]
    scores = scores_of(values, passed=[True] * 4 + [False]).rename({"m": "pl_codebleu_package"})
    console = Console(width=80)
    with console.capture() as capture:
        console.print(render_correlations(correlate(scores, labels_of([1, 0, 0, 1]))))
    text = capture.get()
    assert "-1.000    -1.000" in text
    assert "fewer than 3 rows" in text
    assert "1 chains have no label" in text
    assert "…" not in text


def test_recorded_scores_stand_side_by_side():
    made = chain(step("Passed", pl="a b c d e"), step("ValueError: x", pl="a b c d f"))
    row = recorded_scores([made], rules_of("strict"), names=["pl_exact_match"]).row(0, named=True)
    assert row == {
        **{"problem_id": "t/1", "sample": 0, "passed": True, "tom": 0.0, "pfm": 0.0},
        "pl_exact_match": 0.0,
    }


def test_a_run_s_scores_stand_side_by_side():
    tables = to_tables([case_of("length", 2, "Pf", length=2)])
    first = pl.DataFrame([("p", 0, "shown", "def func")], schema=FIRST, orient="row")
    row = run_scores(tables, first, names=["pl_exact_match"]).row(0, named=True)
    assert row == {
        **{"problem_id": "p", "sample": 0, "passed": True, "tom": 0.25, "pfm": 0.0},
        "pl_exact_match": None,
    }


@pytest.mark.skipif(not HUMAN_JUDGE.exists(), reason="no recorded data here")
@pytest.mark.parametrize(
    ("metric", "of_all", "of_passing", "of_failing"),
    [
        ("pl_exact_match", (0.404, 0.404, 0.404), (0.366,) * 3, (0.478,) * 3),
        ("pfm", (0.701, 0.701, 0.701), (1.0,) * 3, (0.225,) * 3),
        ("nl_bleu", (0.192, 0.175, 0.145), (0.136, 0.117, 0.096), (0.124, 0.107, 0.090)),
        ("nl_rouge_l", (0.233, 0.227, 0.186), (0.249, 0.241, 0.198), (0.015, -0.014, -0.011)),
        ("nl_chrf", (0.262, 0.244, 0.200), (0.262, 0.240, 0.197), (0.093, 0.058, 0.048)),
    ],
)
def test_agreement_with_tom_1_on_the_human_judge_file(metric, of_all, of_passing, of_failing):
    names = [metric] if metric != "pfm" else []
    scores = recorded_scores(read_recorded(HUMAN_JUDGE), rules_of("reference"), names=names)
    labels = scores.select(
        "problem_id", sample=pl.lit(None, pl.Int32), label=(pl.col("tom") == 1).cast(pl.Float64)
    )
    found = [row for row in correlate(scores, labels).rows if row.metric == metric]
    for row, expected in zip(found, (of_all, of_passing, of_failing), strict=True):
        got = (row.pearson, row.spearman, row.kendall)
        assert got == pytest.approx(expected, abs=0.0006)
