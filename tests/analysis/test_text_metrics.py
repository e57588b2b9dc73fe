import os
import subprocess
import sys
from types import ModuleType, SimpleNamespace

import polars as pl
import pytest
from chain_cases import case_of, to_tables
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded_cases import HUMAN_JUDGE, chain, skipped, step

from analysis.code_bleu import code_bleu, data_flows, match_flows
from analysis.recorded import read_recorded
from analysis.text_metrics import METRICS, PAIRS, default_columns, score_texts
from analysis.text_pairs import FIRST, recorded_pairs, run_pairs
from conf import UserError

# The codebleu package gives these two another score under nearly every hash seed.
LOOP = """\
for item in scan(len(rows) - 1, step, first):
    if rows[item] < rows[item - 1]:
        return item - first
return step
"""
OTHER = """\
for item in scan(first, len(rows)):
    if rows[item] < rows[item-1]:
        return item
return step
"""

small_texts = st.text(st.sampled_from("ab cd=():\n\"'é0"), max_size=30)


def pairs_of(*texts):
    rows = [(f"p{i}", 0, *nl, *program) for i, (nl, program) in enumerate(texts)]
    return pl.DataFrame(rows, schema=PAIRS, orient="row")


def scored(reference, prediction):
    both = (reference, prediction)
    return score_texts(pairs_of((both, both))).row(0, named=True)


@given(small_texts)
@settings(max_examples=50, deadline=None)
def test_identical_texts_have_the_best_value(text):
    row = scored(text, text)
    for metric in METRICS:
        for space in metric.spaces:
            assert row.get(f"{space}_{metric.name}", metric.best) == metric.best


@given(small_texts, small_texts)
@settings(max_examples=100, deadline=None)
def test_values_lie_between_0_and_the_best(reference, prediction):
    row = scored(reference, prediction)
    best = {f"{space}_{metric.name}": metric.best for metric in METRICS for space in metric.spaces}
    for name in default_columns():
        assert -1e-9 <= row[name] <= best[name] + 1e-9


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("nl_exact_match", 0.0),
        ("nl_bleu", (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25),
        ("nl_rouge_l", 4 / 5),
    ],
)
def test_a_value_worked_out_by_hand(name, value):
    assert scored("a b c d e", "a b c d f")[name] == pytest.approx(value)


def test_a_missing_text_has_no_value():
    frame = score_texts(pairs_of((("one", None), (None, "two"))))
    assert frame.select(default_columns()).row(0) == (None,) * len(default_columns())


def test_metrics_are_made_in_the_order_asked_for():
    frame = score_texts(pairs_of((("a", "b"), ("c", "c"))), ["pl_chrf", "nl_exact_match"])
    assert frame.columns == ["problem_id", "sample", "pl_chrf", "nl_exact_match"]
    assert frame.row(0) == ("p0", 0, 100.0, 0.0)


def test_an_unknown_metric_is_the_users_mistake():
    with pytest.raises(UserError, match="nl_meteor"):
        score_texts(pairs_of(), ["nl_meteor"])


def test_a_missing_library_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "bert_score", None)
    with pytest.raises(UserError, match=r"holdtrue\[bertscore\]"):
        score_texts(pairs_of((("a", "b"), ("c", "d"))), ["nl_bert_score"])


def test_bert_score_is_the_f_value_of_prediction_against_reference(monkeypatch):
    package = ModuleType("bert_score")
    package.BERTScorer = lambda **_: SimpleNamespace(
        score=lambda candidates, references: (
            [0.0] * len(candidates),
            [0.0] * len(candidates),
            [
                0.25 if pair == ("b", "a") else 0.5
                for pair in zip(candidates, references, strict=True)
            ],
        )
    )
    monkeypatch.setitem(sys.modules, "bert_score", package)
    pairs = pairs_of((("a", "b"), ("", "")), (("c", "c"), ("", "")), (("d", "e"), ("", "")))
    assert score_texts(pairs, ["nl_bert_score"])["nl_bert_score"].to_list() == [0.25, 1.0, 0.5]


def test_missing_weights_are_the_users_to_fetch(monkeypatch):
    def no_weights(**_):
        raise OSError("no such model")

    package = ModuleType("bert_score")
    package.BERTScorer = no_weights
    monkeypatch.setitem(sys.modules, "bert_score", package)
    with pytest.raises(UserError, match="roberta-large"):
        score_texts(pairs_of((("a", "b"), ("c", "d"))), ["nl_bert_score"])


def test_code_bleu_does_not_depend_on_the_hash_seed():
    program = f"from analysis.code_bleu import code_bleu; print(code_bleu({LOOP!r}, {OTHER!r}))"
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
        )
        for seed in ("0", "1", "3")
    ]
    outputs = {run.communicate()[0] for run in runs}
    assert {run.returncode for run in runs} == {0}
    assert len(outputs) == 1


def test_data_flows_do_not_see_what_variables_are_called():
    renamed = LOOP.replace("item", "aa").replace("rows", "zz").replace("first", "b")
    assert data_flows(renamed) == data_flows(LOOP)


def test_a_flow_is_matched_only_once():
    flow = ("v0", "comesFrom", ())
    assert match_flows([flow, flow], [flow]) == 0.5
    assert match_flows([], [flow]) is None


def test_code_bleu_without_data_flow_is_the_mean_of_the_other_parts():
    result = code_bleu("return 1", "return 2")
    assert result.data_flow is None
    others = (result.ngrams, result.weighted_ngrams, result.syntax)
    assert result.score == pytest.approx(sum(others) / 3)
    assert result.package_score == pytest.approx((sum(others) + 1) / 4)


def test_a_data_flow_of_zero_counts_as_zero():
    result = code_bleu("x = y\nreturn x", "return 1")
    assert result.data_flow == 0.0
    assert result.score < result.package_score


def test_an_empty_program_has_nothing_in_common_with_another():
    assert code_bleu("return 1", " \n").score == 0.0


def test_recorded_descriptions_are_compared_without_signature_and_name():
    made = chain(step("Passed", nl='def one():\n    """one is one"""', pl="a"), step("Passed"))
    row = recorded_pairs([made]).row(0, named=True)
    assert row["nl_reference"] == '    """func is func"""'
    assert (row["pl_reference"], row["pl_prediction"]) == ("a", "    return 1")


def test_later_recorded_steps_are_compared_as_recorded():
    made = chain(step("Passed"), step("Passed", nl="one 1"), step("Passed", nl="one 2"))
    row = recorded_pairs([made], 2).row(0, named=True)
    assert (row["nl_reference"], row["nl_prediction"]) == ("one 1", "one 2")


def test_chains_that_did_not_get_there_have_no_pair():
    made = [chain(step("Passed")), chain(step("Passed"), skipped(), problem="t/2")]
    assert recorded_pairs(made).is_empty()


def test_pairs_of_a_run_take_the_first_texts_as_shown_and_the_later_ones_as_stored():
    tables = with_texts(to_tables([case_of("length", 2, "PPP", length=2)]))
    first = pl.DataFrame([("p", 0, "shown", "def func")], schema=FIRST, orient="row")
    assert run_pairs(tables, first).row(0)[2:] == ("shown", "nl1", "def func", "pl1")
    assert run_pairs(tables, first, 2).row(0)[2:] == ("nl1", "nl2", "pl1", "pl2")


def test_a_closed_chain_repeats_its_program():
    tables = with_texts(to_tables([case_of("fixed_point", 1, "P", cycle=(0, 1), length=2)]))
    first = pl.DataFrame([("p", 0, "shown", "def func")], schema=FIRST, orient="row")
    row = run_pairs(tables, first).row(0, named=True)
    assert (row["pl_reference"], row["pl_prediction"]) == ("def func", "def func")


def with_texts(tables):
    return type(tables)(
        chains=tables.chains,
        steps=tables.steps.with_columns(
            nl=pl.format("nl{}", pl.col("step")), pl=pl.format("pl{}", pl.col("step"))
        ),
        outcomes=tables.outcomes,
        completions=tables.completions,
    )


@pytest.mark.skipif(not HUMAN_JUDGE.exists(), reason="no recorded data here")
@pytest.mark.parametrize(
    ("name", "mean"),
    [
        ("nl_exact_match", 0.0),
        ("nl_bleu", 0.192),
        ("nl_rouge_l", 0.345),
        ("nl_chrf", 33.5),
        ("pl_exact_match", 0.178),
        ("pl_codebleu_package", 0.603),
    ],
)
def test_means_on_the_human_judge_file(name, mean):
    values = score_texts(recorded_pairs(read_recorded(HUMAN_JUDGE)), [name])[name]
    assert len(values) == 163
    assert values.mean() == pytest.approx(mean, abs=0.05 if mean > 1 else 0.0005)
