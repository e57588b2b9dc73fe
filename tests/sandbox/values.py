"""Strategies for builtin values, shared by the tests of encoding and comparison."""

from collections import deque
from decimal import Decimal
from fractions import Fraction

from hypothesis import strategies as st

NUMBERS = st.one_of(
    st.booleans(),
    st.integers(),
    st.integers(min_value=-(10**40), max_value=10**40),
    st.floats(allow_nan=False),
    st.sampled_from([0.0, -0.0, 1.0, 2.0**53, float("inf"), float("-inf"), 5e-324]),
)
MORE_NUMBERS = st.one_of(
    NUMBERS,
    st.complex_numbers(allow_nan=False),
    st.fractions(),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9),
)
ATOMS = st.one_of(st.none(), MORE_NUMBERS, st.text(), st.binary(max_size=20))
HASHABLE = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple), st.frozensets(inner, max_size=3)
    ),
    max_leaves=6,
)
VALUES = st.recursive(
    st.one_of(HASHABLE, st.binary(max_size=5).map(bytearray), st.sets(HASHABLE, max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.lists(inner, max_size=4).map(deque),
        st.dictionaries(HASHABLE, inner, max_size=4),
    ),
    max_leaves=12,
)
# Small and often equal across types: what a comparison has to get right.
CLOSE = st.recursive(
    st.sampled_from([0, 1, 2, 0.0, 1.0, True, False, 1 + 0j, Fraction(1), Decimal(1), "1", None]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.lists(inner, max_size=2).map(tuple),
        st.dictionaries(st.sampled_from([0, 1, 1.0, True, "1"]), inner, max_size=2),
        st.sets(st.sampled_from([0, 1, 1.0, "1", Fraction(2)]), max_size=2),
        st.frozensets(st.sampled_from([0, 1, 1.0, "1"]), max_size=2),
    ),
    max_leaves=4,
)
