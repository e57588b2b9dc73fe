import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.datasets.asserts import Case, Check, split_assert, split_function, split_text
from pipeline.datasets.headers import BadPrompt, split_prompt
from pipeline.datasets.literals import NotLiteral, parse_arguments, parse_literal


def case(condition: str) -> Case | None:
    return split_assert(ast.parse(condition, mode="eval").body, "f")


def split(check: str, context: str = "") -> list[Case | Check]:
    function = ast.parse(check).body[0]
    assert isinstance(function, ast.FunctionDef)
    return split_function(function, ast.parse(context).body, "f")


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("f(1, [2]) == 3", Case("1, [2]", 3, "python")),
        ("3 == f(1)", Case("1", 3, "python")),
        ("f() == {}", Case("", {}, "python")),
        ("f(2 ** 10, -1) == (2, -3.5)", Case("2 ** 10, -1", (2, -3.5), "python")),
        ("f(1) is True", Case("1", True, "exact")),
        ("f(1) is None", Case("1", None, "exact")),
        ("f('a')", Case("'a'", True, "python")),
        ("not f('a')", Case("'a'", False, "python")),
        ("abs(f(1) - 2.0 / 3.0) < 1e-6", Case("1", 2 / 3, "approx", 1e-6)),
        ("abs(0.5 - f(1)) <= 0.1", Case("1", 0.5, "approx", 0.1)),
        ("math.fabs(f(1) - 2) < 1e-6", Case("1", 2.0, "approx", 1e-6)),
        ("f(1, x=[2]) == 3", Case("1, x=[2]", 3, "python")),
        ("f(set()) == set([1])", Case("set()", {1}, "python")),
    ],
)
def test_a_plain_assertion_becomes_a_case(condition, expected):
    assert case(condition) == expected


@pytest.mark.parametrize(
    "condition",
    [
        "f(x) == 1",
        "f(1) == y",
        "f(1) == f(2)",
        "f(**{'x': 1}) == 2",
        "f(x=y) == 2",
        "f(*[1]) == 2",
        "tuple(f(1)) == (1,)",
        "f(1) < 3",
        "f(1) == 1 == 1",
        "f(1) in (1, 2)",
        "g(1) == 2",
        "math.isclose(f(1), 2.0, rel_tol=0.001)",
        "f(1).strip() == ''",
        "f(open('x')) == 1",
    ],
)
def test_anything_else_stays_an_assertion(condition):
    assert case(condition) is None


def test_order_is_kept_and_constant_assertions_are_dropped():
    found = split(
        "def check(candidate):\n"
        "    assert candidate(1) == 1, 'message'\n"
        "    assert True, 'padding'\n"
        "    assert candidate(2) > 0\n"
        "    assert candidate(3) == 3\n"
    )
    assert found == [
        Case("1", 1, "python"),
        Check("assert f(2) > 0\n"),
        Case("3", 3, "python"),
    ]


def test_a_check_carries_what_it_needs_and_no_more():
    (check,) = split(
        "def check(candidate):\n"
        "    import random\n"
        "    unused = 5\n"
        "    rng = random.Random(1)\n"
        "    for _ in range(3):\n"
        "        x = rng.random()\n"
        "        assert candidate(x) == helper(x)\n",
        context="import math\nimport os\ndef helper(x):\n    return math.floor(x)\ndef f(x): ...",
    )
    assert isinstance(check, Check)
    names = check.source
    assert "import math" in names
    assert "def helper" in names
    assert "import random" in names
    assert "unused" not in names
    assert "import os" not in names
    assert "def f(" not in names


def test_a_statement_may_change_what_it_names():
    (check,) = split(
        "def check(candidate):\n    xs = [1]\n    xs.append(2)\n    assert candidate(xs) == 2\n"
    )
    assert check == Check("xs = [1]\nxs.append(2)\nassert f(xs) == 2\n")


def test_assertions_that_share_a_call_stay_together():
    found = split(
        "def check(candidate):\n"
        "    out = candidate(1)\n"
        "    assert out > 0\n"
        "    assert out < 9\n"
        "    assert candidate(2) == 2\n"
    )
    assert found == [
        Check("out = f(1)\nassert out > 0\nassert out < 9\n"),
        Case("2", 2, "python"),
    ]


def test_a_return_keeps_the_whole_function():
    (check,) = split("def check(candidate):\n    if candidate(1):\n        return\n    assert 0\n")
    assert isinstance(check, Check)
    assert check.source.endswith("check(f)\n")


def test_checks_run_alone():
    checks = split(
        "def check(candidate):\n"
        "    k = 2\n"
        "    assert candidate(k) == k * k\n"
        "    assert tuple(candidate(3) for _ in range(2)) == (9, 9)\n"
    )
    for check in checks:
        assert isinstance(check, Check)
        exec(check.source, {"f": lambda x: x * x})
        with pytest.raises(AssertionError):
            exec(check.source, {"f": lambda x: x})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("out = f(1)\nassert out == 2, f'outputs {out}'", [Case("1", 2, "python")]),
        ("import math\nout = f(1)\nassert out == 2", [Case("1", 2, "python")]),
        ("out = f(5)\nassert f (5) == False, f'{out}'", [Case("5", False, "python")]),
        ("assert f(1) == 1\nassert f(2) == 2", [Case("1", 1, "python"), Case("2", 2, "python")]),
        (
            "out = f(1)\nassert set(out) == {1}",
            [Check("out = f(1)\nassert set(out) == {1}\n")],
        ),
        (
            "out = f(1)\nout += 1\nassert out == 2",
            [Check("out = f(1)\nout += 1\nassert out == 2\n")],
        ),
    ],
)
def test_assertion_text(text, expected):
    assert split_text(text, "f") == expected


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.binary()
    | st.complex_numbers(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.integers() | st.text(), inner)
        | st.sets(st.integers())
    ),
    max_leaves=20,
)


@given(VALUES)
def test_a_literal_has_the_value_that_python_gives_it(value):
    assert parse_literal(repr(value)) == value


@pytest.mark.parametrize(
    "source",
    [
        "x",
        "f(1)",
        "().__class__",
        "1 / 0",
        "[1",
        "10 ** 10 ** 10",
        "[0] * 10 ** 9",
        "bytes(10**9)",
        "{**{}}",
        "'%d' % 'a'",
        "lambda: 1",
        "[x for x in (1,)]",
        "",
    ],
)
def test_no_literal(source):
    with pytest.raises(NotLiteral):
        parse_literal(source)


@pytest.mark.parametrize("source", ["x=1, 2", "*[1]", "1) + (2", "1,,2", "**{}"])
def test_no_argument_list(source):
    with pytest.raises(NotLiteral):
        parse_arguments(source)


@pytest.mark.parametrize(
    ("prompt", "parts"),
    [
        ('def f(x):\n    """Doc."""\n', ("", "def f(x):", "Doc.")),
        ("def f(x):\n", ("", "def f(x):", "")),
        ("def f(x):", ("", "def f(x):", "")),
        ('import os\n\ndef f(x):\n  """A\n  B\n  """\n', ("import os\n\n", "def f(x):", "A\nB")),
        (
            "def g():\n    pass\n\ndef f(\n    x: dict[str, int] = {1: 2},\n) -> int:\n  'd'\n",
            ("def g():\n    pass\n\n", "def f(\n    x: dict[str, int] = {1: 2},\n) -> int:", "d"),
        ),
        ("def f(k=lambda a: a, *, m=1): # c:\n 'd'", ("", "def f(k=lambda a: a, *, m=1):", "d")),
        ("S = '\x0c\u2028'\n@d(1)\ndef f(): 'x'\n", ("S = '\x0c\u2028'\n", "@d(1)\ndef f():", "x")),
        ('def f(x):\n \n    """"Q" \n    """\n', ("", "def f(x):", '"Q"')),
    ],
)  # fmt: skip
def test_a_prompt_is_split_at_exact_positions(prompt, parts):
    header = split_prompt(prompt, "f")
    assert (header.preamble, header.signature, header.docstring) == parts
    assert prompt.startswith(header.preamble + header.signature)


@pytest.mark.parametrize(
    "prompt", ["def g():\n    pass\n", "def f(:\n", "x = 1", "class f: pass", "\0"]
)
def test_a_prompt_that_does_not_define_the_function(prompt):
    with pytest.raises(BadPrompt):
        split_prompt(prompt, "f")
