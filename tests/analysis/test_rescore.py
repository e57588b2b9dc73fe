import pytest
from recorded_cases import HUMAN_JUDGE, chain, line, step, write

from analysis.rescore import render_rescore, rescore, rule_effects
from conf import UserError

CHAINS = [
    chain(step("Passed", pl="a"), step("Passed", pl="b"), problem="t/1"),
    chain(step("Time Out", pl="a"), step("ValueError: x", pl="b"), problem="t/2"),
]


@pytest.fixture
def recorded(tmp_path):
    return write(tmp_path / "a.jsonl", [line(made) for made in CHAINS])


def test_a_report_has_both_readings_of_sc_1(recorded):
    report = rescore(recorded, "reference")
    assert report.steps[1].sc.value == 0.5
    assert report.steps[1].tom.value == 0.5
    text = "\n".join(render_rescore(report))
    assert "SC_1 as published: share with TOM = 1" in text
    assert "SC_1 as the paper's text has it: mean TOM" in text


def test_reference_lists_no_changes(recorded):
    report = rescore(recorded, "reference")
    assert report.steps[0].passed.value == 1.0
    assert (report.changes, report.effects) == ((), ())


def test_strict_says_what_changed_and_why(recorded):
    text = "\n".join(render_rescore(rescore(recorded, "strict")))
    assert "t/2 step 0: passed true -> false (all_passed)" in text
    assert "passed_0 -50.00" in text


def test_the_effect_of_a_rule_is_in_points():
    by_rule = {effect.rule: effect.points for effect in rule_effects(CHAINS)}
    assert by_rule["all_passed"] == {"passed_0": -50.0, "ssc_0": -50.0, "pfm_1": 50.0}
    assert by_rule["messages_scrubbed"] == {}


def test_denominators_leave_out_what_is_unknown(tmp_path):
    short = chain(step("Passed"), problem="t/3")
    path = write(tmp_path / "a.jsonl", [line(made) for made in (*CHAINS, short)])
    report = rescore(path, "strict")
    assert (report.steps[0].passed.n, report.steps[1].passed.n) == (3, 2)
    assert report.steps[1].passed.of == 3


def test_step_0_has_no_score_that_needs_a_step_before(recorded):
    first = rescore(recorded, "strict").steps[0]
    assert [first.tom.value, first.sc.value, first.pfm.value] == [None, None, None]


def test_a_file_without_chains_is_the_users_mistake(tmp_path):
    with pytest.raises(UserError, match="holds no chain"):
        rescore(write(tmp_path / "a.jsonl", ["\n"]), "strict")


@pytest.mark.skipif(not HUMAN_JUDGE.exists(), reason="no recorded data here")
def test_the_human_judge_file_gives_the_published_kind_of_numbers():
    text = "\n".join(render_rescore(rescore(HUMAN_JUDGE, "reference")))
    assert all(number in text for number in ("117/163", "93/163", "77/163", "0.7681"))
