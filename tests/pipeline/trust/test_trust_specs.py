import pytest
from trust_cases import PROBLEM

from pipeline.trust.samples import Sampled
from pipeline.trust.specs import Form, find_inputs, read_assert, read_relation


def an_assert(text):
    return read_assert("s", Sampled(text, (0,)), PROBLEM)


def a_relation(text):
    return read_relation("s", Sampled(text, (0,)), PROBLEM)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("assert double(1) == 2", Form.CASE),
        ("assert [2] == double(1)", Form.CASE),
        ("assert double(1)", Form.TRUTH),
        ("assert not double(0)", Form.TRUTH),
        ("assert double(1) > 1", Form.CHECK),
        ("assert double(double(1)) == 4", Form.CHECK),
        ("assert double(math.floor(2.5)) == 4", Form.CHECK),
        ("x = double(1)\nassert x == 2", Form.CHECK),
        ("assert ____ == double(1)", Form.BROKEN),
        ("assert 'double(1)'", Form.BROKEN),
        ("assert (", Form.BROKEN),
    ],
)
def test_the_form_of_an_assert(text, form):
    assert an_assert(text).form is form


def test_a_case_keeps_its_arguments_and_value():
    spec = an_assert("assert double( 1,by = 3 ) == 3.0")
    assert (spec.args, spec.expected) == ("1, by=3", '["f","0x1.8000000000000p+1"]')


def test_a_broken_spec_says_why():
    assert an_assert("assert ____ == double(1)").message == "uses ____, which nothing defines"


def test_a_relation_is_a_function_of_the_value_and_the_parameters():
    scope = {}
    exec(a_relation("assert return_value == n * by").program, scope)
    scope["relation"](6, 3)
    with pytest.raises(AssertionError):
        scope["relation"](6, 3, by=1)


def test_a_relation_may_use_a_standard_module_that_it_did_not_import():
    assert a_relation("assert re.match('a', 'a')").program.startswith("import re\n")


@pytest.mark.parametrize("text", ["n > 1", "assert m > 1", "assert"])
def test_a_relation_without_meaning_is_broken(text):
    assert a_relation(text).form is Form.BROKEN


def test_inputs_are_literal_and_fit_the_signature_and_the_frequent_come_first():
    texts = [
        "assert double(1) == 2",
        "assert double(2)==4",
        "assert double( 2 ) == 4",
        "assert double(x) == 4",
        "assert double(1, 2, 3) == 4",
        "assert double() == 4",
        "assert double(1, by=5) > double(7)",
        "assert double(1, c=5)",
    ]
    assert find_inputs(texts, PROBLEM) == ["2", "1", "1, by=5", "7"]
