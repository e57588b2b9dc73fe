import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.trust.values import NoSource, is_true, output_digest, value_source
from sandbox.encoding import encode
from sandbox.types import Kind, Outcome

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.text()
    | st.binary()
)
hashable = st.recursive(scalars, lambda inner: st.tuples(inner) | st.frozensets(inner, max_size=3))
values = st.recursive(
    hashable,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.sets(hashable, max_size=3)
        | st.dictionaries(hashable, inner, max_size=3)
    ),
    max_leaves=8,
)


@given(values)
def test_a_values_source_makes_it_again(value):
    assert encode(eval(value_source(encode(value)))) == encode(value)


def test_what_is_no_value_has_no_source():
    with pytest.raises(NoSource):
        value_source(encode(object()))


@given(values)
def test_truth_is_pythons(value):
    assert is_true(encode(value)) is bool(value)


def an_outcome(value=None, kind=Kind.VALUE, encoding=None):
    return Outcome("t", kind, encoding or encode(value))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (an_outcome(0.1 + 0.2), an_outcome(0.3), True),
        (an_outcome([1]), an_outcome((1,)), False),
        (an_outcome(1), an_outcome(True), False),
        (an_outcome(math.nan), an_outcome(math.nan), True),
        (an_outcome(kind=Kind.TIMEOUT), an_outcome(kind=Kind.MEMORY), False),
        (
            an_outcome(kind=Kind.ERROR, encoding='["ValueError","ValueError","a"]'),
            an_outcome(kind=Kind.ERROR, encoding='["ValueError","ValueError","b"]'),
            True,
        ),
    ],
)
def test_what_counts_as_the_same_output(one, other, same):
    assert (output_digest(one) == output_digest(other)) is same
