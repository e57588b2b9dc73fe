"""What a child makes a call's arguments of."""

import marshal
from types import CodeType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.inside.job import arguments, call_of

floats = st.floats(allow_nan=False, allow_infinity=False)  # those are no literals
scalars = st.none() | st.booleans() | st.integers() | floats | st.text() | st.binary()
literals = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=4)
    ),
    max_leaves=12,
)


def evaluated(source: str) -> object:
    return eval(call_of(source), {"_": lambda *args, **kwargs: (args, kwargs)})


def read(source: str) -> object:
    given_ = arguments(source)
    assert type(given_) is bytes
    return marshal.loads(given_)


@given(
    st.lists(literals.filter(lambda value: "inf" not in repr(value) and "nan" not in repr(value)))
)
def test_literals_are_read_as_they_would_be_evaluated(values):
    source = ", ".join(map(repr, values))
    if len(source) <= 2000:
        assert repr(read(source)) == repr(evaluated(source))


@pytest.mark.parametrize("source", ["1, k=[2]", "k={'a': (-1, -0.0)}", "", "'x' 'y'"])
def test_named_and_joined_literals_too(source):
    assert repr(read(source)) == repr(evaluated(source))


@pytest.mark.parametrize(
    "source",
    [
        *["{1, 2}", "[{1}]", "1 + 1", "float('inf')", "*[1]", "**{'a': 1}", "[*()]", "{**{}}"],
        *["_(1)", "x", "(y := 1)", "...", "[i for i in 'ab']", "f'{1}'", "-True", "not 1"],
        "1) + _(2",
    ],
)
def test_what_is_no_literal_is_left_to_the_child(source):
    assert isinstance(read(source), CodeType)


@pytest.mark.parametrize("source", ["1, , 2", ")", "0" * 3000 + "1", "(" * 500, "'\0'"])
def test_what_does_not_compile_is_left_to_the_child_as_it_is(source):
    assert arguments(source) == call_of(source)


def test_each_reading_gives_new_objects():
    given_ = arguments("[1], {'a': []}")
    assert type(given_) is bytes
    one, other = marshal.loads(given_), marshal.loads(given_)
    one[0][0].append(2)
    assert other == (([1], {"a": []}), {})
