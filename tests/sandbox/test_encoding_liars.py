"""Values that lie about themselves: what is reported is read past their own methods."""

import builtins
import decimal
import json
import sys
import types
from collections import OrderedDict
from datetime import date, datetime, tzinfo
from decimal import Decimal
from fractions import Fraction

import numpy as np

from sandbox.encoding import decode, encode


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


class Asked(Exception):
    pass


def _ask(*_args, **_more):
    raise Asked


def test_a_metaclass_is_not_asked_for_hash_or_equality_of_its_class():
    meta = type("Meta", (type,), dict.fromkeys(["__hash__", "__eq__", "__instancecheck__"], _ask))
    assert json.loads(encode(meta("Thing", (), {})())) == ["o", "Thing"]
    assert decode(encode(meta("Things", (list,), {})([1]))) == [1]


def test_a_name_that_is_no_plain_text_is_read_as_text():
    class Name(str):
        __str__ = __repr__ = __len__ = __getitem__ = isascii = _ask

    assert json.loads(encode(type(Name("Thing"), (), {})())) == ["o", "Thing"]


def test_items_are_read_without_their_hash_or_equality():
    class Key:
        armed = False

        def __hash__(self):
            return _ask() if Key.armed else 1

        __eq__ = _ask

    key = Key()
    values = [{key: 1}, {key}, frozenset([key]), OrderedDict({key: 1})]
    Key.armed = True
    assert [json.loads(encode(value))[0] for value in values] == ["d", "s", "fs", "u"]


def test_a_module_put_in_place_of_a_library_is_not_asked(monkeypatch):
    class Fake(types.ModuleType):
        __getattribute__ = _ask

    for name in ("decimal", "fractions", "datetime", "numpy"):
        monkeypatch.setitem(sys.modules, name, Fake(name))
    assert json.loads(encode(Decimal("1.50"))) == ["D", "1.50"]
    assert json.loads(encode(np.float64(1.0))) == ["N", "<f8", ["f", "0x1.0000000000000p+0"]]


def test_a_class_called_fraction_is_no_fraction(monkeypatch):
    fake = types.ModuleType("fractions")
    fake.Fraction = type("Fraction", (), {"_numerator": property(_ask), "_denominator": 1})
    monkeypatch.setitem(sys.modules, "fractions", fake)
    assert json.loads(encode(fake.Fraction())) == ["o", "Fraction"]


def test_a_time_zone_of_the_programs_own_is_not_asked():
    class Zone(tzinfo):
        utcoffset = dst = tzname = _ask

    moment = datetime(2024, 1, 1, tzinfo=Zone())
    assert json.loads(encode(moment)) == ["o", "datetime"]


def test_subclasses_of_library_types_are_read_by_their_base():
    class Money(Decimal):
        __str__ = __format__ = _ask

    class Half(Fraction):
        numerator = denominator = property(_ask)
        __str__ = _ask

    class Day(date):
        isoformat = __str__ = _ask

    values = [Money("1.5"), Half(1, 2), Day(2024, 1, 2)]
    assert decode(encode(values)) == [Decimal("1.5"), Fraction(1, 2), date(2024, 1, 2)]


def test_an_iterator_subclass_is_opaque_and_does_not_run():
    class Mapped(map):
        __next__ = __iter__ = _ask

    assert json.loads(encode(Mapped(_ask, [1]))) == ["o", "Mapped"]


def test_patched_builtins_do_not_change_what_is_reported(monkeypatch):
    for name in ("len", "sorted", "id", "map", "getattr"):
        monkeypatch.setattr(builtins, name, _ask)
    text = encode([{3, 1}, 2**70, b"x", Decimal(1)])
    monkeypatch.undo()
    assert decode(text) == [{1, 3}, 2**70, b"x", Decimal(1)]


def test_a_decimal_context_does_not_change_the_text():
    with decimal.localcontext() as context:
        context.capitals = 0
        assert json.loads(encode(Decimal("1E+5"))) == ["D", "1E+5"]
