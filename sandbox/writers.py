"""How each type is read into text: the types that ``encoding`` knows.

Theory of operation. The program shares this process, so its objects are never asked what they are.
A type is known by identity or, if it is a static type of the interpreter or of an extension module,
by the name in its C structure; neither can be forged by Python code, unlike ``__class__``,
``sys.modules`` or a metaclass's ``__name__``. An instance of a subclass is read through its base
class's slots. Types are looked up by ``id``: as keys of a dict they would run a metaclass's
``__hash__``. Program code runs in one place only, where an iterator is run to see what it yields.
"""

import itertools
import json
import sys

# Bound here, so that a program that patches the builtins module does not change its own results.
from builtins import (  # noqa: UP029
    any,
    bool,
    bytearray,
    bytes,
    complex,
    dict,
    filter,
    float,
    frozenset,
    getattr,
    id,
    int,
    len,
    list,
    map,
    next,
    range,
    set,
    slice,
    sorted,
    str,
    tuple,
    type,
    vars,
)
from collections import OrderedDict, deque
from collections.abc import Callable
from types import MemberDescriptorType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sandbox.encoding import Encoder

MAX_ITEMS = 10_000
"""Longest iterator that is run to its end."""
MAX_INT_BITS = 10**6
SMALL = 2**53
"""Largest integer that is written as it is."""

_HEAP_TYPE = 1 << 9
_MAX_NAME = 200
_GENERIC = ("numpy", "generic")
quote: Callable[[str], str] = json.encoder.encode_basestring_ascii
mro_of = type.__dict__["__mro__"].__get__
_flags_of = type.__dict__["__flags__"].__get__
_module_of = type.__dict__["__module__"].__get__
_name_of = type.__dict__["__name__"].__get__
_namespace_of = type.__dict__["__dict__"].__get__
_maxlen_of = deque.__dict__["maxlen"].__get__

Writer = Callable[["Encoder", Any, Any], str]
"""Writes a value as an instance of the type given last, which is its own or a base of it."""


def join(start: str, texts: list[str]) -> str:
    """Return the text of a list from its start and its further items' texts."""
    return f"{start},{','.join(texts)}]" if texts else start + "]"


def name_of(kind: type) -> str:
    """Return the text of a class's name."""
    # Not __qualname__: a function's new name must not rename the classes inside it.
    return quote(str.__str__(_name_of(kind))[:_MAX_NAME])


def static_name(kind: type) -> tuple[str, str]:
    """Return module and name of a static type, from its C structure; empty for any other."""
    if _flags_of(kind) & _HEAP_TYPE:
        return "", ""
    return _module_of(kind), _name_of(kind)


def _is_fraction(kind: type) -> bool:
    # The one type here that is written in Python, and so has no name in C.
    module = sys.modules.get("fractions")
    return type(module) is ModuleType and vars(module).get("Fraction") is kind


def find_writer(kind: type) -> Writer:
    """Return the writer of a type that is not among the common ones."""
    name = static_name(kind)
    if (writer := _BY_NAME.get(name)) is None:
        if _is_fraction(kind):
            return _write_fraction
        bases = [base for base in mro_of(kind)[1:] if static_name(base)[0] or _is_fraction(base)]
        if name[0] == "numpy" and any(static_name(base) == _GENERIC for base in bases):
            writer = _write_numpy_scalar
        else:
            writer = next(filter(None, map(_base_writer, bases)), _write_opaque)
    if name[0]:
        # A static type lives for ever, so that its id is never another's.
        WRITERS[id(kind)] = writer
    return writer


def _base_writer(base: type) -> Writer | None:
    """Return the writer for instances of a base's subclasses, if it holds a value of its own."""
    writer = WRITERS.get(id(base)) or find_writer(base)
    if writer in (_write_opaque, _write_iterator):
        return None
    return lambda encoder, value, kind: encoder.wrapped(
        f'["u",{name_of(kind)}', value, base, writer
    )


def _write_opaque(_encoder: "Encoder", _value: Any, kind: Any) -> str:
    return f'["o",{name_of(kind)}]'


def _write_int(encoder: "Encoder", value: Any, _kind: Any) -> str:
    exact = int.__index__(value)
    if -SMALL <= exact <= SMALL:
        return int.__repr__(exact)
    if exact.bit_length() > MAX_INT_BITS:
        encoder.refuse(f"an integer of more than {MAX_INT_BITS} bits")
    encoder.spend(exact.bit_length() // 4)
    return f'["i","{exact:#x}"]'


def _write_str(encoder: "Encoder", value: Any, _kind: Any) -> str:
    exact = str.__str__(value)
    encoder.spend(len(exact))
    if not exact.isascii():
        try:
            exact.encode()
        except UnicodeEncodeError:
            # As JSON escapes, a high and a low surrogate would turn into one character.
            return f'["su","{exact.encode("utf-8", "surrogatepass").hex()}"]'
    return quote(exact)


def _write_bytes(encoder: "Encoder", value: Any, kind: Any) -> str:
    encoder.spend(2 * kind.__len__(value))
    return f'["{"b" if kind is bytes else "ba"}","{kind.hex(value)}"]'


def _write_complex(_encoder: "Encoder", value: Any, _kind: Any) -> str:
    exact = complex.__complex__(value)
    return f'["c","{exact.real.hex()}","{exact.imag.hex()}"]'


def _write_list(encoder: "Encoder", value: Any, _kind: Any) -> str:
    encoder.check(list.__len__(value))
    return encoder.nested('["l"', value, [*list.__iter__(value)])


def _write_tuple(encoder: "Encoder", value: Any, _kind: Any) -> str:
    encoder.check(tuple.__len__(value))
    return encoder.nested('["t"', value, [*tuple.__iter__(value)])


def _write_deque(encoder: "Encoder", value: Any, _kind: Any) -> str:
    encoder.check(deque.__len__(value))
    return encoder.nested('["q"', value, [_maxlen_of(value), *deque.__iter__(value)])


def _write_set(encoder: "Encoder", value: Any, kind: Any) -> str:
    encoder.check(kind.__len__(value))
    start = '["s"' if kind is set else '["fs"'
    return encoder.nested(start, value, [*kind.__iter__(value)], sorted)


def _write_dict(encoder: "Encoder", value: Any, _kind: Any) -> str:
    encoder.check(2 * dict.__len__(value))
    return encoder.nested('["d"', value, [part for pair in dict.items(value) for part in pair])


def _write_ordered_dict(encoder: "Encoder", value: Any, kind: Any) -> str:
    return encoder.wrapped(f'["u",{name_of(kind)}', value, kind, _write_in_own_order)


def _write_in_own_order(encoder: "Encoder", value: Any, kind: Any) -> str:
    # Its own order differs from the dict's after move_to_end, but walking in it hashes the keys,
    # which may run code of the program.
    if any(type(key) not in (str, int, float, bool, bytes) for key in dict.keys(value)):
        return _write_dict(encoder, value, kind)
    keys = [*OrderedDict.__iter__(value)]
    pairs = [part for key in keys for part in (key, dict.__getitem__(value, key))]
    return encoder.nested('["d"', value, pairs)


def _write_bounds(encoder: "Encoder", value: Any, kind: Any) -> str:
    parts = [value.start, value.stop, value.step]
    return encoder.nested('["r"' if kind is range else '["sl"', value, parts)


def _write_iterator(encoder: "Encoder", value: Any, kind: Any) -> str:
    # Program code runs in this line and in no other.
    items = list(itertools.islice(value, MAX_ITEMS + 1))
    if len(items) > MAX_ITEMS:
        encoder.refuse(f"an iterator of more than {MAX_ITEMS} items")
    return encoder.nested(f'["it",{name_of(kind)}', value, items)


def _write_decimal(encoder: "Encoder", value: Any, kind: Any) -> str:
    # Upper case, whatever the program's decimal context says.
    text = kind.__str__(value).upper()
    encoder.spend(len(text))
    return f'["D","{text}"]'


def _write_fraction(encoder: "Encoder", value: Any, kind: Any) -> str:
    slots = [_namespace_of(kind).get(name) for name in ("_numerator", "_denominator")]
    if any(type(slot) is not MemberDescriptorType for slot in slots):
        return _write_opaque(encoder, value, kind)
    parts = [slot.__get__(value) for slot in slots]
    if any(type(part) is not int for part in parts):
        return _write_opaque(encoder, value, kind)
    return encoder.nested('["F"', value, parts)


def _write_date(_encoder: "Encoder", value: Any, kind: Any) -> str:
    return f'["date","{kind.isoformat(value)}"]'


def _write_time(encoder: "Encoder", value: Any, kind: Any) -> str:
    zone = kind.tzinfo.__get__(value)
    # A time zone of another type would be called, and may be the program's.
    if zone is not None and static_name(type(zone)) != ("datetime", "timezone"):
        return _write_opaque(encoder, value, kind)
    return f'["{"dt" if _name_of(kind) == "datetime" else "time"}","{kind.isoformat(value)}"]'


def _write_timedelta(_encoder: "Encoder", value: Any, kind: Any) -> str:
    parts = [getattr(kind, name).__get__(value) for name in ("days", "seconds", "microseconds")]
    return join('["td"', [int.__repr__(part) for part in parts])


def _write_array(encoder: "Encoder", value: Any, kind: Any) -> str:
    array = kind.view(value, kind)
    encoder.check(array.size)
    shape = ",".join(map(str, array.shape))
    start = f'["A",{quote(array.dtype.str)},[{shape}]'
    return encoder.nested(start, value, array.reshape(-1).tolist())


def _write_numpy_scalar(encoder: "Encoder", value: Any, kind: Any) -> str:
    item = kind.item(value)
    if type(item) is kind:  # longdouble has no Python type to go to
        return _write_opaque(encoder, value, kind)
    start = f'["N",{quote(kind.dtype.__get__(value).str)}'
    return encoder.wrapped(start, item, None, lambda inner, plain, _: inner.text(plain))


_EMPTY: tuple[Any, ...] = ([], {}, {}.values(), {}.items(), deque(), OrderedDict())
_ITERABLE: tuple[Any, ...] = ((), "", "\u00e9", b"", bytearray(), set(), range(0), range(2**70))
_ITERATORS: tuple[type, ...] = (
    *(type(iter(iterable)) for iterable in _EMPTY + _ITERABLE),
    *(type(reversed(iterable)) for iterable in _EMPTY),
    *(
        type(view)
        for d in _EMPTY
        if hasattr(d, "keys")
        for view in (d.keys(), d.values(), d.items())
    ),
    *(type(_ for _ in ()), type(iter(int, 0))),
    *(map, zip, filter, enumerate, reversed),
    *(kind for kind in vars(itertools).values() if type(kind) is type),
)
WRITERS: dict[int, Writer] = {
    id(type(None)): lambda _encoder, _value, _kind: "null",
    id(bool): lambda _encoder, value, _kind: "true" if value else "false",
    id(int): _write_int,
    id(float): lambda _encoder, value, _kind: f'["f","{float.hex(value)}"]',
    id(complex): _write_complex,
    id(str): _write_str,
    id(bytes): _write_bytes,
    id(bytearray): _write_bytes,
    id(list): _write_list,
    id(tuple): _write_tuple,
    id(deque): _write_deque,
    id(set): _write_set,
    id(frozenset): _write_set,
    id(dict): _write_dict,
    id(OrderedDict): _write_ordered_dict,
    id(range): _write_bounds,
    id(slice): _write_bounds,
    id(type(...)): lambda _encoder, _value, _kind: '["k","Ellipsis"]',
    id(type(NotImplemented)): lambda _encoder, _value, _kind: '["k","NotImplemented"]',
    **dict.fromkeys(map(id, _ITERATORS), _write_iterator),
}
_BY_NAME: dict[tuple[str, str], Writer] = {
    ("decimal", "Decimal"): _write_decimal,
    ("datetime", "date"): _write_date,
    ("datetime", "time"): _write_time,
    ("datetime", "datetime"): _write_time,
    ("datetime", "timedelta"): _write_timedelta,
    ("numpy", "ndarray"): _write_array,
}
