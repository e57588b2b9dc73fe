import itertools
import json
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from datetime import UTC, date, datetime, time, timedelta, timezone
from enum import IntEnum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
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


@given(st.text(st.characters(min_codepoint=0xD700, max_codepoint=0xE010), max_size=5))
def test_surrogates_survive_lone_or_paired(text):
    assert decode(encode(text)) == text


def test_two_surrogates_are_not_the_character_they_would_make_in_json():
    assert encode("\ud83d\ude00") != encode("\U0001f600")


def test_an_integer_too_long_for_decimal_text_survives():
    assert decode(encode(10**20000 + 7)) == 10**20000 + 7


def test_sets_do_not_depend_on_their_order():
    assert encode({1, "a", (2,)}) == encode({(2,), "a", 1})


Point = namedtuple("Point", "x y")


class Colour(IntEnum):
    RED = 1


def test_a_subclass_of_a_subclass_is_read_by_the_builtin_base():
    class Items(list):
        pass

    class Things(Items):
        pass

    assert json.loads(encode(Things([1]))) == ["u", "Things", ["l", 1]]


@pytest.mark.parametrize(
    ("value", "tag", "base"),
    [
        (Counter("aab"), "Counter", Counter("aab")),
        (OrderedDict(a=1), "OrderedDict", OrderedDict(a=1)),
        (defaultdict(int, a=1), "defaultdict", defaultdict(None, a=1)),
        (Point(1, 2), "Point", (1, 2)),
        (Colour.RED, "Colour", 1),
    ],
)
def test_a_subclass_keeps_its_name_and_its_base_value(value, tag, base):
    text = encode(value)
    assert json.loads(text)[:2] == ["u", tag]
    assert _same(decode(text), base)


@pytest.mark.parametrize(
    "value",
    [
        date(2024, 2, 29),
        time(1, 2, 3, 4),
        datetime(2024, 2, 29, 1, 2),  # noqa: DTZ001
        datetime(2024, 2, 29, 1, 2, tzinfo=UTC),
        datetime(2024, 2, 29, 1, 2, tzinfo=timezone(timedelta(hours=-3, seconds=7))),
        timedelta(-1, 2, 3),
    ],
)
def test_times_survive(value):
    assert _same(decode(encode(value)), value)


def test_an_array_keeps_type_and_shape():
    text = encode(np.arange(6, dtype=np.int32).reshape(2, 3))
    assert json.loads(text) == ["A", "<i4", [2, 3], 0, 1, 2, 3, 4, 5]
    assert decode(text).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert decode(text).dtype == np.int32


@pytest.mark.parametrize(
    "array",
    [
        np.array([[1.5, np.inf]], np.float32).T,
        np.array(["a", "bcd"]),
        np.array(3),
        np.zeros((0, 2), bool),
        np.arange(10)[::3],
    ],
)
def test_plain_arrays_survive(array):
    again = decode(encode(array))
    assert (again.dtype, again.shape) == (array.dtype, array.shape)
    assert np.array_equal(again, array)


def test_an_object_array_cannot_be_made_again_but_its_items_are_seen():
    text = encode(np.array([1, "a", object()], object))
    assert json.loads(text)[3:] == [1, "a", ["o", "object"]]
    with pytest.raises(Undecodable):
        decode(text)


def test_a_huge_view_of_one_number_is_refused_before_it_is_made():
    with pytest.raises(Unencodable, match="items"):
        encode(np.broadcast_to(np.float64(1), (10**6, 10**6)))


def test_an_array_subclass_is_read_as_an_array():
    class Mine(np.ndarray):
        def tolist(self):
            raise RuntimeError("asked")

        def __getitem__(self, at):
            raise RuntimeError("asked")

    text = encode(np.arange(2).view(Mine))
    assert json.loads(text)[:2] == ["u", "Mine"]
    assert decode(text).tolist() == [0, 1]


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


def test_cycles_through_lists_deques_and_dicts_are_made_again():
    value = {"a": [deque()]}
    value["a"][0].append(value)
    again = decode(encode(value))
    assert again["a"][0][0] is again


def test_a_cycle_through_a_tuple_cannot_be_made_again():
    value = ([],)
    value[0].append(value)
    assert json.loads(encode(value)) == ["t", ["l", ["R", 2]]]
    with pytest.raises(Undecodable, match="cycle"):
        decode(encode(value))


def test_the_same_list_twice_is_no_cycle():
    part = [1]
    assert decode(encode([part, part])) == [[1], [1]]


def test_an_ordered_dict_keeps_its_own_order():
    value = OrderedDict(a=1, b=2)
    value.move_to_end("a")
    assert list(decode(encode(value))) == ["b", "a"]


@pytest.mark.parametrize(
    ("view", "kind"),
    [({"a": 1}.keys(), "dict_keys"), ({"a": 1}.items(), "dict_items"), ({0: 1}.values(), "x")],
)
def test_dict_views_come_back_as_views(view, kind):
    again = decode(encode(view))
    assert type(again) is type(view)
    assert list(again) == list(view)
    assert kind == "x" or again == view


def test_iterators_of_every_builtin_kind_are_run():
    iterators = [
        iter("ab"),
        reversed([1]),
        zip([1], [2], strict=False),
        enumerate("a"),
        itertools.chain([1]),
    ]
    assert [json.loads(encode(i))[0] for i in iterators] == ["it"] * 5
    assert list(decode(encode(iter({3: 4}.items())))) == [(3, 4)]


@pytest.mark.parametrize("value", [..., NotImplemented, range(3, 2**70, 2), slice(1, None, [2])])
def test_lesser_builtins_survive(value):
    assert decode(encode(value)) == value


def test_a_deque_keeps_its_bound():
    assert decode(encode(deque([1, 2], maxlen=2))).maxlen == 2


def test_nesting_up_to_the_bound_travels():
    assert decode(encode(_deep(199))) == _deep(199)


def test_a_forged_array_cannot_ask_for_memory():
    assert decode('["A","<U900000000",[1],"a"]').nbytes < 100


def test_thousands_of_equal_hashes_are_refused():
    numbers = ",".join(f'["i","{n * (2**61 - 1):#x}"]' for n in range(2000))
    with pytest.raises(Undecodable, match="hashes"):
        decode(f'["s",{numbers}]')


def test_depth_is_bounded_in_parsing():
    assert loads("[" * 250 + "]" * 250)
    with pytest.raises(ValueError, match="deeper"):
        loads("[" * 251 + "]" * 251)


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
        (lambda: [0] * 300_000, "items"),
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
        "Mine",
        "KeyError",
        "at 0x...",
    ]


@pytest.mark.parametrize("failure", [ValueError, SystemExit])
def test_an_exception_whose_message_fails_has_none(failure):
    class Broken(Exception):
        def __str__(self):
            raise failure

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
