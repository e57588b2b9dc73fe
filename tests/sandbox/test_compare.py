import math
import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from values import CLOSE, VALUES

from sandbox.compare import RTOL, equal
from sandbox.encoding import encode

BOTH_FLOATS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e9, max_value=1e9)


def same(a, b, comparator="python", atol=None):
    return equal(encode(a), encode(b), comparator, atol)


@given(CLOSE, CLOSE)
def test_python_agrees_with_pythons_own_equality_on_near_twins(a, b):
    assert same(a, b) == (a == b)


@given(VALUES, VALUES)
def test_python_agrees_with_pythons_own_equality(a, b):
    assert same(a, b) == (a == b)


@given(VALUES)
def test_every_value_equals_its_copy_in_every_way(value):
    copy = pickle.loads(pickle.dumps(value))
    for comparator in ("python", "approx"):
        assert same(copy, value, comparator, 1e-6)
    assert equal(encode(value), encode(value), "exact")


@given(CLOSE, CLOSE)
def test_approx_without_room_is_python_on_values_without_inexact_floats(a, b):
    assert same(a, b, "approx", 0.0) == (a == b)


def test_exact_tells_types_apart_that_python_does_not():
    assert same(1, 1.0)
    assert not same(1, 1.0, "exact")


def test_a_namedtuple_equals_its_tuple_and_an_ordered_dict_its_dict():
    from collections import OrderedDict, namedtuple

    assert same(namedtuple("P", "x")(1), (1,))
    assert same(OrderedDict(a=1, b=2), {"b": 2, "a": 1})


def test_a_list_is_no_tuple():
    assert not same([1], (1,))


@pytest.mark.parametrize("comparator", ["exact", "python", "approx"])
def test_nan_equals_nan(comparator):
    assert same(math.nan, math.nan, comparator)
    assert same([1, math.nan], [1, math.nan], comparator)


@given(BOTH_FLOATS, BOTH_FLOATS, st.sampled_from([0.0, 1e-6, 0.5, 3.0]))
def test_approx_is_the_stated_bound(a, b, atol):
    difference, bound = abs(a - b), atol + RTOL * abs(b)
    assume(abs(difference - bound) > 1e-9 * max(1.0, abs(a), abs(b)))
    assert same(a, b, "approx", atol) == (difference <= bound)


@pytest.mark.parametrize(
    ("a", "b", "near"),
    [
        ([1.0, [2.0]], [1.0, [2.0000000001]], True),
        ({"a": 1.0}, {"a": 1.0000000001}, True),
        ((1, 2.0), (1, 2.1), False),
        (1, 1.0000000001, True),
        (1, 2, False),
        ("1.0", "1.0000000001", False),
        ([1.0], (1.0,), False),
        ([1.0], [1.0, 1.0], False),
        ({1.0: "a"}, {1.0000000001: "a"}, False),
        (math.inf, math.inf, True),
        (math.inf, 1e308, False),
        (10**400, 1e308, False),
        (np.array([1.0, 2.0]), np.array([1.0, 2.0000000001]), True),
        (np.array([1.0, 2.0]), np.array([[1.0], [2.0]]), False),
        (np.float32(0.5), 0.5, True),
    ],
)
def test_approx_reaches_floats_at_any_depth_and_nothing_else(a, b, near):
    assert same(a, b, "approx", 1e-6) is near


def test_tolerance_does_not_leak_from_one_value_to_integers_beside_it():
    assert not same([0.5, 1], [0.5, 2], "approx", 10.0)


def test_an_opaque_object_equals_nothing_not_even_itself():
    text = encode([object()])
    for comparator in ("exact", "python", "approx"):
        assert not equal(text, text, comparator)


def test_a_cyclic_value_equals_nothing():
    value = []
    value.append(value)
    assert not equal(encode(value), encode(value), "exact")


@pytest.mark.parametrize(
    "hostile",
    [
        "",
        "[",
        "NaN",
        "[" * 5000,
        "[]",
        "{}",
        '["zz"]',
        '["l"',
        '["f","x"]',
        '["i","-"]',
        '["d",1]',
        '["u"]',
        '["A"]',
        '["r",1,2,0]',
        '["F",1,0]',
        '["D","1e999999999"]',
        '["N","<f8",{}]',
        '["l",' * 150 + "1" + "]" * 150,
    ],
)
@pytest.mark.parametrize("comparator", ["exact", "python", "approx"])
def test_hostile_bytes_are_unequal_and_cost_nothing(hostile, comparator):
    assert equal(hostile, encode(1.5), comparator) is False
    assert equal(hostile, encode([1]), comparator) is False


def test_an_unknown_comparator_is_a_bug():
    with pytest.raises(ValueError, match="fuzzy"):
        equal("1", "1", "fuzzy")


def test_a_broken_expectation_is_a_bug_and_no_verdict():
    with pytest.raises(ValueError, match=r".*"):
        equal("1", "[", "python")


def test_large_sets_are_compared_in_reasonable_steps():
    assert same(set(range(50_000)), set(range(49_999, -1, -1)))
