import dataclasses

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_cases import HUMAN_JUDGE, chain, skipped, step

from analysis.recorded import RecordedStep, read_recorded
from analysis.reference import (
    RULES,
    SCORINGS,
    list_changes,
    output_match,
    pass_fail_match,
    passes,
    rules_of,
    score_recorded,
)
from conf import UserError

REFERENCE, STRICT = SCORINGS["reference"], SCORINGS["strict"]

needs_data = pytest.mark.skipif(not HUMAN_JUDGE.exists(), reason="no recorded data here")

results = st.sampled_from(
    ["Passed", "Time Out", "SystemExit: 1", "AssertionError: outputs 1", "NameError: name 'one'"]
)
texts = st.sampled_from(["    return 1", "    return 2"])


@st.composite
def recorded_chains(draw):
    tests = draw(st.integers(1, 3))
    steps = draw(st.integers(1, 4))
    made = [
        RecordedStep("d", draw(texts), tuple(draw(results) for _ in range(tests)))
        for _ in range(steps)
    ]
    return chain(*made)


@pytest.mark.parametrize(
    ("result", "reference", "strict"),
    [
        ("Passed", True, True),
        ("Time Out", True, False),
        ("StopIteration: ", True, False),
        ("SystemExit: 0", True, False),
        ("Exception: no", True, False),
        ("AssertionError: outputs 3", False, False),
        ("ValueError: bad", False, False),
    ],
)
def test_what_counts_as_passed(result, reference, strict):
    assert passes(["Passed", result], REFERENCE) is reference
    assert passes(["Passed", result], STRICT) is strict


@pytest.mark.parametrize(
    ("before", "after", "reference", "strict"),
    [
        (("Passed", "Passed"), ("Passed", "ValueError: x"), 0.5, 0.5),
        (("Time Out", "Passed"), ("Time Out", "Passed"), 1.0, 1.0),
        (("Time Out", "Passed"), ("Passed", "Passed"), 1.0, 0.5),
        (("Time Out",), ("Time Out",), 0.0, None),
        (("Time Out",), ("Passed",), 0.0, 0.0),
        (
            ("SyntaxError: bad (<string>, line 3)",),
            ("SyntaxError: bad (<string>, line 9)",),
            0.0,
            1.0,
        ),
        (("TypeError: one() takes 1",), ("TypeError: func() takes 1",), 0.0, 1.0),
        (("TypeError: oneself",), ("TypeError: funcself",), 0.0, 0.0),
        (
            ("AssertionError: outputs <a.B object at 0x7f01>",),
            ("AssertionError: outputs <a.B object at 0x7f02>",),
            0.0,
            1.0,
        ),
        (("AssertionError: outputs line 1",), ("AssertionError: outputs line 2",), 0.0, 0.0),
        (("AssertionError: outputs one",), ("AssertionError: outputs func",), 0.0, 0.0),
    ],
)
def test_output_match_of_different_programs(before, after, reference, strict):
    old, new = step(*before, pl="a"), step(*after, pl="b")
    assert output_match(old, new, REFERENCE, name="one") == reference
    assert output_match(old, new, STRICT, name="one") == strict


def test_only_the_release_lets_equal_texts_overrule_what_ran():
    old, new = step("Passed"), step("NameError: name 'one'")
    assert output_match(old, new, REFERENCE, name="one") == 1.0
    assert output_match(old, new, STRICT, name="one") == 0.0
    assert pass_fail_match(old, new, REFERENCE)
    assert not pass_fail_match(old, new, STRICT)


def test_the_scores_of_a_chain_accumulate():
    made = chain(
        step("Passed", "Passed", pl="a"),
        step("Passed", "Passed", pl="b"),
        step("Passed", "ValueError: x", pl="c"),
        step("Passed", "ValueError: x", pl="c"),
    )
    rows = score_recorded([made], STRICT)
    assert rows["passed"].to_list() == [True, True, False, False]
    assert rows["tom"].to_list() == [None, 1.0, 0.5, 1.0]
    assert rows["pfm"].to_list() == [None, True, False, True]
    assert rows["same_text"].to_list() == [None, False, False, True]
    assert rows["sc"].to_list() == [None, True, False, False]
    assert rows["ssc"].to_list() == [True, True, False, False]


def test_a_skipped_step_ends_the_chain_and_only_we_count_it_as_a_failure():
    made = chain(step("ValueError: x"), skipped(), step("Passed"))
    reference, strict = score_recorded([made], REFERENCE), score_recorded([made], STRICT)
    assert reference["ssc"].to_list() == [False, None, None]
    assert strict["ssc"].to_list() == [False, False, False]
    for rows in (reference, strict):
        assert rows["passed"].to_list() == [False, None, None]
        assert rows["sc"].to_list() == [None, None, None]


def test_steps_that_are_not_there_are_unknown():
    short, long = chain(step("Passed")), chain(step("Passed"), step("Passed"), problem="t/2")
    rows = score_recorded([short, long], STRICT).filter(problem_id="t/1", step=1)
    assert rows.select("passed", "tom", "sc", "ssc").row(0) == (None, None, None, None)


def test_every_change_has_its_rule():
    made = chain(step("Time Out", pl="a"), step("Passed", pl="b"))
    changes = {(c.step, c.score): (c.reference, c.strict, c.rules) for c in list_changes([made])}
    assert changes == {
        (0, "passed"): (True, False, ("all_passed",)),
        (1, "pfm"): (True, False, ("all_passed",)),
    }


@pytest.mark.parametrize(
    ("before", "after", "score", "rules"),
    [
        ("SystemExit: 1", "Passed", "pfm", {"all_passed", "execution_decides"}),
        ("Time Out", "Time Out", "tom", {"execution_decides", "nothing_undefined"}),
        ("Time Out", "Passed", "tom", {"execution_decides"}),
    ],
)
def test_a_change_of_equal_programs_names_all_the_rules_it_takes(before, after, score, rules):
    made = chain(step(before), step(after))
    change = next(c for c in list_changes([made]) if c.score == score)
    assert set(change.rules) == rules


@given(recorded_chains())
def test_the_named_rules_explain_each_change_and_fewer_do_not(made):
    def value(change, rules):
        under = dataclasses.replace(REFERENCE, **dict.fromkeys(rules, True))
        return score_recorded([made], under).filter(step=change.step)[change.score].item()

    for change in list_changes([made]):
        assert value(change, change.rules) == change.strict
        for rule in change.rules:
            assert value(change, set(change.rules) - {rule}) != change.strict


@given(recorded_chains())
def test_strict_never_lets_more_programs_pass(made):
    reference, strict = score_recorded([made], REFERENCE), score_recorded([made], STRICT)
    pairs = zip(reference["passed"], strict["passed"], strict=True)
    assert all(old or not new for old, new in pairs)


@given(recorded_chains())
def test_values_that_are_not_listed_as_changed_are_equal(made):
    listed = {(change.step, change.score) for change in list_changes([made])}
    reference, strict = score_recorded([made], REFERENCE), score_recorded([made], STRICT)
    for score in ("passed", "tom", "pfm"):
        for index, (old, new) in enumerate(zip(reference[score], strict[score], strict=True)):
            assert (old == new) is ((index, score) not in listed)


def test_an_unknown_scoring_is_the_users_mistake():
    with pytest.raises(UserError, match="reference, strict"):
        rules_of("lenient")


def test_the_scorings_are_opposites_in_every_rule():
    assert not any(getattr(REFERENCE, rule) for rule in RULES)
    assert all(getattr(STRICT, rule) for rule in RULES)


@needs_data
def test_the_release_s_numbers_on_the_human_judge_file():
    scored = score_recorded(read_recorded(HUMAN_JUDGE), REFERENCE)
    first, second = (scored.filter(step=index) for index in (0, 1))
    assert scored["problem_id"].n_unique() == 163
    assert first["passed"].sum() == 117
    assert second.select(pl.col("passed", "sc", "ssc", "pfm", "same_text").sum()).row(0) == (
        *(81, 93, 77, 119, 29),
    )
    assert second["tom"].mean() == pytest.approx(0.7681, abs=5e-5)


@needs_data
def test_what_strict_changes_on_the_human_judge_file():
    changes = list_changes(read_recorded(HUMAN_JUDGE))
    assert [(c.problem_id, c.step, c.score, c.rules) for c in changes] == [
        ("HumanEval/25", 0, "passed", ("all_passed",)),
        ("HumanEval/25", 1, "passed", ("all_passed",)),
        ("HumanEval/83", 0, "passed", ("all_passed",)),
        ("HumanEval/83", 1, "pfm", ("all_passed",)),
    ]
