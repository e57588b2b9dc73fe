import pytest

from pipeline.trust.reading import code_of, find_assertions, find_calls


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("assert f(1) == 2", ["assert f(1) == 2"]),
        ("assert f(1) == 2\nassert g(1) == 2\nassert f(3)", ["assert f(1) == 2", "assert f(3)"]),
        ("assert f(1) == 2, 'why'  # so\nprint(f(2))", ["assert f(1) == 2, 'why'"]),
        ("def test():\n    assert f(1)\n    assert f([\n        1,\n    ]) == 3\n",
         ["assert f(1)", "assert f([\n        1,\n    ]) == 3"]),
        ("assert f(1) == \\\n    2", ["assert f(1) == \\\n    2"]),
        ("1. assert f(1) == 2\n2. assert f(", ["assert f(1) == 2"]),
        ("assert 'f(1)'", []),
        ("We assert that f(1) is 2.", []),
        ("", []),
    ],
)  # fmt: skip
def test_the_asserts_of_a_text_that_use_a_name(text, found):
    assert list(find_assertions(text, "f")) == found


def test_a_text_that_opens_brackets_for_ever_has_no_assert():
    assert list(find_assertions("assert f(" + "[" * 5000, "f")) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("f(1)\nf(2, b=(3))", ["f(1)", "f(2, b=(3))"]),
        ("f(')')", ["f(')')"]),
        ("x = f(1) + 2", ["f(1)"]),
        ("of(1) a.f(1) f(", []),
        ("f(f(1))", ["f(f(1))", "f(1)"]),
    ],
)
def test_the_calls_of_a_text(text, found):
    assert list(find_calls(text, "f")) == found


def test_code_is_what_stands_in_fences():
    text = "Here:\n```python\nassert a\n```\nand\n```\nassert b\n```\n"
    assert code_of(text) == "assert a\nassert b"


def test_without_a_fence_all_is_code():
    assert code_of("assert a\n") == "assert a\n"
