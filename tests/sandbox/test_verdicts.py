import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.encoding import encode, encode_exception
from sandbox.types import Kind, Load, Outcome
from sandbox.verdicts import (
    WORST_FIRST,
    Expectation,
    Verdict,
    judge_outcome,
    outcomes_match,
    program_verdict,
)


def value(x, **more):
    return Outcome("t", Kind.VALUE, encode(x), **more)


def error(exception):
    return Outcome("t", Kind.ERROR, encode_exception(exception), repr(exception))


def test_an_equal_value_passes_and_another_fails():
    assert judge_outcome(value(1), Expectation("1")) is Verdict.PASS
    assert judge_outcome(value(2), Expectation("1")) is Verdict.FAIL


def test_a_value_nobody_expects_anything_of_passes():
    assert judge_outcome(value(2), Expectation(None)) is Verdict.PASS


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.VALUE])
def test_anything_but_a_value_is_its_own_verdict(kind):
    assert judge_outcome(Outcome("t", kind, "1"), Expectation("1")).value == kind.value


def test_a_check_is_judged_by_its_end_not_by_its_values():
    assert judge_outcome(value([1], held=True), Expectation(None)) is Verdict.PASS
    assert judge_outcome(value([1], held=False), Expectation(None)) is Verdict.FAIL


def test_every_verdict_has_its_place_in_the_order():
    assert sorted(WORST_FIRST) == sorted(Verdict)


@given(st.lists(st.sampled_from(list(Verdict)), min_size=1))
def test_a_program_is_as_bad_as_its_worst_test(verdicts):
    worst = program_verdict(Load.OK, verdicts)
    assert worst in verdicts
    assert all(WORST_FIRST.index(worst) <= WORST_FIRST.index(v) for v in verdicts)


@pytest.mark.parametrize(
    ("load", "verdict"),
    [
        (Load.NO_CODE, "no_code"),
        (Load.SYNTAX, "error"),
        (Load.ERROR, "error"),
        (Load.TIMEOUT, "timeout"),
        (Load.MEMORY, "memory"),
        (Load.CRASH, "crash"),
        (Load.HARNESS, "harness"),
    ],
)
def test_a_program_that_does_not_load_is_judged_by_that(load, verdict):
    assert program_verdict(load, [Verdict.SKIPPED]) == verdict


def test_values_match_by_the_tests_comparator():
    assert outcomes_match(value(1), value(1.0), "python", None) is True
    assert outcomes_match(value(1), value(1.0), "exact", None) is False
    assert outcomes_match(value(1.0), value(1.05), "approx", 0.1) is True


def test_errors_match_by_class_and_message():
    assert outcomes_match(error(KeyError("a")), error(KeyError("a")), "python", None) is True
    assert outcomes_match(error(KeyError("a")), error(KeyError("b")), "python", None) is False
    assert outcomes_match(error(ValueError("a")), error(TypeError("a")), "python", None) is False


def test_addresses_line_numbers_and_the_functions_name_make_no_difference():
    one = error(TypeError("count() at 0x7f00, line 3"))
    other = error(TypeError("func() at 0x7f11, line 9"))
    assert outcomes_match(one, other, "python", None, ("count", "func")) is True


def test_the_name_inside_another_word_is_left_alone():
    one, other = error(TypeError("counter")), error(TypeError("funcer"))
    assert outcomes_match(one, other, "python", None, ("count", "func")) is False


def test_a_value_and_an_error_do_not_match():
    assert outcomes_match(value(1), error(KeyError()), "python", None) is False


def test_a_time_out_against_a_value_is_a_difference_and_against_its_like_unknown():
    late = Outcome("t", Kind.TIMEOUT)
    assert outcomes_match(late, value(1), "python", None) is False
    assert outcomes_match(late, late, "python", None) is None


@pytest.mark.parametrize("kind", [Kind.SKIPPED, Kind.HARNESS])
def test_nothing_is_known_of_what_was_not_run_or_not_seen(kind):
    assert outcomes_match(Outcome("t", kind), value(1), "python", None) is None


@pytest.mark.parametrize("kind", [Kind.MEMORY, Kind.CRASH, Kind.OUTPUT, Kind.UNENCODABLE])
def test_other_kinds_match_their_like(kind):
    assert outcomes_match(Outcome("t", kind), Outcome("t", kind), "python", None) is True


def test_two_opaque_objects_cannot_be_compared():
    assert outcomes_match(value(object()), value(object()), "python", None) is None
