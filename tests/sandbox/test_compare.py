import math
import pickle
from collections import Counter, OrderedDict, deque, namedtuple
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

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
        ({1.0: "a"}, {1.0000000001: "a"}, True),
        ({1.0: "a", 2.0: "b"}, {2.0000000001: "b", 1.0000000001: "a"}, True),
        ({1.0: "a", 2.0: "b"}, {2.0000000001: "a", 1.0000000001: "b"}, False),
        ({0.3, "a", 5.0}, {"a", 0.1 + 0.2, 5.0}, True),
        ({(0.3, 1), (0.3, 2)}, {(0.1 + 0.2, 2), (0.1 + 0.2, 1)}, True),
        ({0.3}, {0.4}, False),
        ({1, 2}, {1, 3}, False),
        ({1.0}, {1.0, 2.0}, False),
        (1.0 + 2.0000000001j, 1 + 2j, True),
        (True, 1.0000000001, False),
        (math.nan, 1.0, False),
        ([math.nan, 1.0], [math.nan, 1.0000000001], True),
        (deque([1.0]), deque([1.0000000001], 5), True),
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


def test_cyclic_values_are_compared_by_their_shape():
    one, other, third = [1], [1.0], [[1]]
    for value in (one, other):
        value.append(value)
    third.append(third[0])
    assert same(one, other)
    assert not same(one, third)


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


BIG = st.sampled_from([10**400, Decimal("1E+400"), Fraction(10**400), Decimal("1E+401"), 10**401])
THIRDS = st.sampled_from(
    [Fraction(1, 3), 1 / 3, Fraction(1 / 3), Decimal(1 / 3), Decimal("0.5"), 0.5]
)


@given(st.one_of(BIG, THIRDS), st.one_of(BIG, THIRDS))
def test_numbers_of_all_types_are_equal_by_their_exact_value(a, b):
    assert same(a, b) == (a == b)


@given(st.decimals(allow_nan=False), st.one_of(st.integers(), st.floats(allow_nan=False)))
def test_decimals_agree_with_python(a, b):
    assert same(a, b) == (a == b)
    assert same(a, Decimal(b)) == (a == Decimal(b))


RANGES = st.builds(range, st.integers(-3, 3), st.integers(-3, 3), st.sampled_from([-2, -1, 1, 2]))


@given(RANGES, RANGES)
def test_ranges_agree_with_python(a, b):
    assert same(a, b) == (a == b)


ZONES = st.sampled_from([None, UTC, timezone(timedelta(hours=1)), timezone(timedelta(minutes=-30))])
HOURS = st.integers(10, 12)
MOMENTS = st.one_of(
    st.builds(lambda hour, zone: datetime(2024, 1, 1, hour, 30, tzinfo=zone), HOURS, ZONES),
    st.builds(lambda hour, zone: time(hour, 30, tzinfo=zone), HOURS, ZONES),
    st.builds(lambda day: date(2024, 1, day), st.integers(1, 2)),
    st.builds(lambda hours: timedelta(hours=hours), st.integers(23, 25)),
)


@given(MOMENTS, MOMENTS)
def test_times_agree_with_python(a, b):
    assert same(a, b) == (a == b)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ({1: 2}.keys(), {1}, True),
        ({1: 2, 3: 4}.items(), {3: 4, 1: 2}.items(), True),
        (map(int, "12"), (int(c) for c in "12"), True),
        (map(int, "12"), [1, 2], False),
        (np.array([1, 2]), np.array([1.0, 2.0]), True),
        (np.array([1, 2]), [1, 2], False),
        (np.int64(3), 3, True),
        (Counter("a"), {"a": 1}, True),
        (b"a", bytearray(b"a"), True),
        ("1", 1, False),
        (b"a", "a", False),
        (..., ..., True),
        ("\ud83d\ude00", "\U0001f600", False),
    ],
)
def test_what_python_has_no_useful_equality_for(a, b, expected):
    assert same(a, b) is expected


@given(BOTH_FLOATS, BOTH_FLOATS)
def test_approx_of_a_set_is_approx_of_its_item(a, b):
    assert same({a}, {b}, "approx", 0.5) == same(a, b, "approx", 0.5)


def test_the_deepest_values_are_compared():
    text = '["l",' * 199 + "1" + "]" * 199
    for comparator in ("python", "approx"):
        assert equal(text, text.replace("1", "true"), comparator)
        assert not equal(text, text.replace("1", "2"), comparator)


def test_thousands_of_numbers_with_one_hash_are_compared_like_others():
    # As text, since a set of them takes Python quadratic time to make.
    numbers = sorted(f'["i","{n * (2**61 - 1):#x}"]' for n in range(1, 20_000))
    one, other = (f'["{tag}",{",".join(numbers)}]' for tag in ("s", "fs"))
    assert equal(one, other, "python")
    assert not equal(one, other.replace(numbers[7], '["i","0x40000000000000"]'), "python")


def test_large_sets_are_compared_in_reasonable_steps():
    assert same(set(range(50_000)), {float(n) for n in range(50_000)})
    assert same({n / 7 for n in range(20_000)}, {n / 7 + 1e-9 for n in range(20_000)}, "approx")
