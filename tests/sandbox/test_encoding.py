import json
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from datetime import UTC, date, datetime, timedelta
from enum import IntEnum

import numpy as np
import pytest
from hypothesis import given
from values import VALUES

from sandbox.encoding import Undecodable, Unencodable, decode, encode, encode_exception, loads


def _same(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple, deque)):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(
            _same(x, y) and _same(a[x], b[y]) for x, y in zip(a, b, strict=True)
        )
    return a == b


@given(VALUES)
def test_decoding_gives_back_value_and_type(value):
    assert _same(decode(encode(value)), value)


@given(VALUES)
def test_the_text_is_ascii_json_and_the_same_every_time(value):
    text = encode(value)
    assert text.isascii()
    json.loads(text)
    assert encode(decode(text)) == text


def test_nan_survives():
    assert np.isnan(decode(encode(float("nan"))))


def test_a_lone_surrogate_survives():
    assert decode(encode("a\ud800b")) == "a\ud800b"


def test_an_integer_too_long_for_decimal_text_survives():
    assert decode(encode(10**20000 + 7)) == 10**20000 + 7


def test_sets_do_not_depend_on_their_order():
    assert encode({1, "a", (2,)}) == encode({(2,), "a", 1})


Point = namedtuple("Point", "x y")


class Colour(IntEnum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "tag", "base"),
    [
        (Counter("aab"), "Counter", {"a": 2, "b": 1}),
        (OrderedDict(a=1), "OrderedDict", {"a": 1}),
        (defaultdict(int, a=1), "defaultdict", {"a": 1}),
        (Point(1, 2), "Point", (1, 2)),
        (Colour.RED, "Colour", 1),
    ],
)
def test_a_subclass_keeps_its_name_and_its_base_value(value, tag, base):
    text = encode(value)
    assert json.loads(text)[:2] == ["u", tag]
    assert _same(decode(text), base)


@pytest.mark.parametrize(
    "value", [date(2024, 2, 29), datetime(2024, 2, 29, 1, 2, tzinfo=UTC), timedelta(1, 2, 3)]
)
def test_times_survive(value):
    assert _same(decode(encode(value)), value)


def test_an_array_keeps_type_and_shape():
    text = encode(np.arange(6, dtype=np.int32).reshape(2, 3))
    assert json.loads(text) == ["A", "<i4", ["t", 2, 3], 0, 1, 2, 3, 4, 5]


def test_a_numpy_scalar_is_not_mistaken_for_the_float_it_extends():
    assert json.loads(encode(np.float64(1.5)))[0] == "N"


def test_iterators_are_run():
    assert json.loads(encode(map(str, [1, 2]))) == ["it", "map", "1", "2"]
    assert json.loads(encode(n * n for n in (1, 2))) == ["it", "generator", 1, 4]
    assert json.loads(encode({"a": 1}.keys())) == ["it", "dict_keys", "a"]


def test_what_an_iterator_raises_is_the_programs_error():
    with pytest.raises(ZeroDivisionError):
        encode(1 / n for n in (1, 0))


def test_a_list_that_holds_itself_is_said_to():
    value = [1, []]
    value[1].append(value)
    assert json.loads(encode(value)) == ["l", 1, ["l", ["R", 2]]]


def test_the_same_list_twice_is_no_cycle():
    part = [1]
    assert decode(encode([part, part])) == [[1], [1]]


class Liar:
    """Lies wherever Python lets it."""

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0

    def __repr__(self):
        return "True"

    def __reduce__(self):
        return (bool, (1,))

    def __getattribute__(self, name):
        raise RuntimeError("asked")

    @property
    def __class__(self):
        return bool


def test_an_object_that_lies_about_its_class_is_opaque():
    assert json.loads(encode(Liar())) == ["o", "Liar"]


def test_no_method_of_a_subclass_decides_what_is_reported():
    class Five(int):
        def __index__(self):
            return 7

        __int__ = __repr__ = __str__ = __add__ = __index__

    class Word(str):
        def __str__(self):
            return "other"

        __repr__ = __str__

    class Items(list):
        def __iter__(self):
            return iter([99])

        def __len__(self):
            return 99

    class Pairs(dict):
        def items(self):
            return [("x", 99)]

    assert decode(encode([Five(5), Word("word"), Items([1]), Pairs(a=1)])) == [
        5,
        "word",
        [1],
        {"a": 1},
    ]


def test_a_metaclass_cannot_change_the_name():
    class Meta(type):
        @property
        def __name__(cls):
            raise RuntimeError("asked")

        def __getattribute__(cls, name):
            raise RuntimeError("asked")

    thing = Meta("Thing", (), {})()
    assert json.loads(encode(thing)) == ["o", "Thing"]


def _deep(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


def _endless():
    while True:
        yield 1


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: _deep(500), "deeper"),
        (lambda: [0] * 300_000, "values"),
        (lambda: "x" * 3_000_000, "bytes"),
        (lambda: b"x" * 3_000_000, "bytes"),
        (lambda: ["x" * 1000] * 3000, "bytes"),
        (lambda: 1 << 2_000_000, "integer"),
        (_endless, "iterator"),
    ],
)
def test_a_value_beyond_a_bound_is_refused_with_the_bound(make, word):
    with pytest.raises(Unencodable, match=word):
        encode(make())


def test_an_exception_is_its_class_the_nearest_builtin_one_and_its_message():
    class Mine(KeyError):
        def __str__(self):
            return "at 0x7f00deadbeef"

    assert json.loads(encode_exception(Mine())) == [
        "test_an_exception_is_its_class_the_nearest_builtin_one_and_its_message.<locals>.Mine",
        "KeyError",
        "at 0x...",
    ]


def test_an_exception_whose_message_fails_has_none():
    class Broken(Exception):
        def __str__(self):
            raise ValueError

    assert json.loads(encode_exception(Broken()))[1:] == ["Exception", ""]


@pytest.mark.parametrize("text", ["", "[", "NaN", "[" * 100_000, '["l"', "1e999x", "9" * 5000])
def test_hostile_text_is_a_value_error(text):
    with pytest.raises(ValueError, match=r".*"):
        loads(text)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "1.5",
        "[]",
        "[1]",
        '["o","X"]',
        '["R",1]',
        '["zz",1]',
        '["i"]',
        '["d",1]',
        '["s",["l"]]',
    ],
)
def test_what_cannot_be_made_again_is_undecodable(text):
    with pytest.raises(Undecodable):
        decode(text)
