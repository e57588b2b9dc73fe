from dataclasses import replace
from itertools import product

import pytest
from chain_cases import bare_cases, case_of, to_tables
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from analysis.compare import (
    FEWEST_DISAGREEMENTS,
    Finding,
    Run,
    compare_runs,
    mcnemar,
)
from analysis.compare_report import render_comparison, score_label
from conf import UserError


def run_of(verdicts, name="run", *, scoring="strict", length=1, samples=False):
    cases = [
        case_of(
            "length",
            len(letters) - 1,
            letters,
            length=length,
            problem="p" if samples else f"p{i}",
            sample=i if samples else 0,
        )
        for i, letters in enumerate(verdicts)
    ]
    return Run(name, to_tables(cases), scoring)


def difference(base, other, score, **options):
    [comparison] = compare_runs([base, other], **options)
    return next(item for item in comparison.differences if item.score == score)


letters = st.sampled_from(["PP", "Pp", "Pf", "FF", "Fp", "FP"])


@st.composite
def paired_runs(draw):
    size = draw(st.integers(1, 40))
    both = st.lists(letters, min_size=size, max_size=size)
    return run_of(draw(both), "a"), run_of(draw(both), "b")


@given(st.integers(0, 8), st.integers(0, 8))
def test_mcnemar_is_the_share_of_coin_tosses_at_least_as_uneven(gained, lost):
    tosses = gained + lost
    uneven = abs(gained - lost)
    outcomes = [abs(2 * sum(toss) - tosses) for toss in product((0, 1), repeat=tosses)]
    share = sum(outcome >= uneven for outcome in outcomes) / len(outcomes)
    assert mcnemar(gained, lost).p == pytest.approx(share)


@given(st.integers(0, 200), st.integers(0, 200))
def test_mcnemar_does_not_see_which_run_is_the_base(gained, lost):
    assert mcnemar(gained, lost).p == mcnemar(lost, gained).p


def test_the_fewest_disagreements_are_those_from_which_p_can_be_small():
    assert mcnemar(FEWEST_DISAGREEMENTS, 0).p <= 0.05 < mcnemar(FEWEST_DISAGREEMENTS - 1, 0).p


@given(paired_runs())
@settings(max_examples=25, deadline=None)
def test_swapping_the_runs_turns_everything_round(pair):
    [there], [back] = compare_runs(pair), compare_runs(pair[::-1])
    for one, two in zip(there.differences, back.differences, strict=True):
        assert (one.base, one.other) == (two.other, two.base)
        assert (one.gained, one.lost) == (two.lost, two.gained)
        assert one.difference.value == -two.difference.value
        assert (one.difference.low, one.difference.high) == (
            *(-two.difference.high, -two.difference.low),
        )
        turned = {Finding.HIGHER: Finding.LOWER, Finding.LOWER: Finding.HIGHER}
        assert one.finding == turned.get(two.finding, two.finding)


@given(paired_runs())
@settings(max_examples=25, deadline=None)
def test_a_difference_is_that_of_the_means_and_lies_in_its_interval(pair):
    for item in compare_runs(pair)[0].differences:
        found = item.difference
        assert found.value == pytest.approx(item.other - item.base)
        assert found.low <= found.value <= found.high


@given(st.lists(bare_cases(), min_size=1, max_size=6, unique_by=lambda case: case.problem))
@settings(max_examples=25, deadline=None)
def test_a_run_is_never_different_from_itself(cases):
    run = Run("a", to_tables(cases), "strict")
    for item in compare_runs([run, replace(run, name="b")])[0].differences:
        assert item.finding in (Finding.SAME, Finding.OPEN)
        assert item.difference.value in (0.0, None)
        assert (item.gained, item.lost) == ((), ())


def test_problems_that_flipped_are_named_in_counting_order():
    base = run_of(["PP"] * 3 + ["FF"] * 8)
    other = run_of(["FF"] + ["PP"] * 2 + ["PP"] * 8)
    item = difference(base, other, "passed_0")
    assert item.lost == ("p0",)
    assert item.gained == ("p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10")
    assert (item.mcnemar.gained, item.mcnemar.lost) == (8, 1)


def test_a_clear_difference_is_told():
    item = difference(run_of(["FF"] * 40), run_of(["PP"] * 30 + ["FF"] * 10), "passed_0")
    assert item.finding == Finding.HIGHER
    assert item.difference.value == 0.75


def test_a_few_disagreements_tell_nothing_even_if_they_agree():
    base = run_of(["FF"] * 5 + ["PP"] * 95)
    item = difference(base, run_of(["PP"] * 100), "passed_0")
    assert item.difference.low > 0
    assert item.finding == Finding.OPEN
    assert "disagree on 5 of 100 problems" in item.reason


def test_no_difference_at_all_says_what_it_rules_out():
    item = difference(run_of(["PP"] * 100), run_of(["PP"] * 100), "passed_0")
    assert item.finding == Finding.SAME
    assert "100 problems rule out more than 3.6 points" in item.reason


def test_a_difference_in_the_noise_says_how_many_problems_it_would_take():
    base = run_of(["PP"] * 20 + ["FF"] * 20)
    other = run_of(["FF"] * 9 + ["PP"] * 21 + ["FF"] * 10)
    item = difference(base, other, "passed_0")
    assert item.finding == Finding.OPEN
    assert "this one about" in item.reason


def test_scores_without_verdicts_have_no_mcnemar():
    item = difference(run_of(["Pp"] * 9), run_of(["PP"] * 9), "tom_1")
    assert item.mcnemar is None
    assert (item.gained, item.lost) == ((), ())


def test_several_chains_a_problem_have_no_mcnemar_but_a_mean():
    item = difference(
        run_of(["PP", "FF"], samples=True), run_of(["PP", "PP"], samples=True), "passed_0"
    )
    assert item.mcnemar is None
    assert (item.base, item.other, item.difference.n) == (0.5, 1.0, 1)
    assert item.gained == ("p",)


def test_a_score_that_one_run_lacks_counts_only_where_both_have_it():
    base = run_of(["PP", "PP"])
    lost = [case_of("engine_error", 1, "P", length=1, problem="p0"), case_of("length", 1, "PP")]
    lost[1].problem, lost[1].length = "p1", 1
    item = difference(base, Run("b", to_tables(lost), "strict"), "sc_1")
    assert (item.difference.n, item.difference.of) == (1, 2)


def test_runs_of_different_length_are_compared_as_far_as_both_go():
    long = run_of(["PPP", "PPP"], length=2)
    [comparison] = compare_runs([long, run_of(["PP", "PP"])])
    assert comparison.length == 1


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (run_of(["PP", "PP"], "b"), "problems in one run only: 1, such as 'p1'"),
        (run_of(["PP"], "b", scoring="reference"), r"scoring differs \(strict and reference\)"),
    ],
)
def test_runs_that_are_not_alike_are_refused_unless_told(other, message):
    base = run_of(["PP"], "a")
    with pytest.raises(UserError, match=message) as error:
        compare_runs([base, other])
    assert "allow_different=true" in str(error.value)
    [comparison] = compare_runs([base, other], allow_different=True)
    assert comparison.problems == 1
    assert len(comparison.notes) == 1


def test_the_same_ids_of_another_data_set_are_other_problems():
    base = run_of(["PP"], "a")
    chains = base.tables.chains.with_columns(dataset=base.tables.chains.collect()["dataset"] + "2")
    other = replace(base, name="b", tables=replace(base.tables, chains=chains))
    with pytest.raises(UserError, match="problems in one run only: 2"):
        compare_runs([base, other])


def test_runs_without_a_common_problem_cannot_be_compared():
    other = Run("b", to_tables([case_of("length", 1, "PP", length=1, problem="q")]), "strict")
    with pytest.raises(UserError, match="no problem in common"):
        compare_runs([run_of(["PP"], "a"), other], allow_different=True)


def test_an_empty_run_cannot_be_compared():
    with pytest.raises(UserError, match="no finished chain"):
        compare_runs([run_of([], "a"), run_of([], "b")])


def test_one_run_cannot_be_compared():
    with pytest.raises(UserError, match="at least two"):
        compare_runs([run_of(["PP"])])


def test_every_further_run_is_compared_with_the_first():
    runs = [run_of(["PP"], name) for name in "abc"]
    assert [(c.base, c.other) for c in compare_runs(runs)] == [("a", "b"), ("a", "c")]


def test_names_of_scores():
    assert [score_label(name) for name in ("passed_0", "sc_2", "pfm_10", "tom_1")] == [
        *("Pass@1", "SC_2", "P/FM_10", "TOM_1"),
    ]


def test_the_report_fits_a_terminal_and_names_the_flipped():
    base = run_of(["PP"] * 20 + ["Pf"] * 20, "base")
    other = run_of(["Fp"] * 20 + ["PP"] * 20, "other")
    console = Console(width=80)
    with console.capture() as capture:
        console.print(render_comparison(compare_runs([base, other])))
    text = capture.get()
    assert "Pass@1 lost: 20 (p0, p1, p2, p3, p4, p5, p6, p7, and 12 more)" in text
    assert "SC_1 gained: 20 (p20, " in text
    assert "would seem to differ" in text
    assert "…" not in text
