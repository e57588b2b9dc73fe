"""Values as text: what leaves the process of an untrusted program.

A value becomes canonical JSON, a small tagged tree. Types are told apart by identity, never by
``isinstance`` or ``__class__``, and read through the builtin classes' own slots, so that no method
of a program's object decides what is reported. The one exception is an iterator, which has to be
run to be seen.

    None, True, 7, "text"     themselves (an int only up to 2**53)
    ["i", hex] ["f", hex] ["c", re, im]     int, float, complex
    ["b", hex] ["B", hex]     bytes, bytearray
    ["l", ...] ["t", ...] ["q", ...]    list, tuple, deque
    ["s", ...] ["S", ...]     set, frozenset: items sorted by their text
    ["d", key, value, ...]    dict, in insertion order
    ["r", a, b, c] ["/", a, b, c]       range, slice
    ["D", text] ["F", a, b] ["T", type, text]    Decimal, Fraction, date and time types
    ["A", dtype, shape, ...] ["N", dtype, value]    numpy array (items in order), numpy scalar
    ["u", type, value]        instance of a subclass of one of these: its base value
    ["it", type, ...]         iterator or view: what it yields
    ["R", up]                 the container that lies ``up`` levels above
    ["o", type]               anything else; equal to nothing

Only the standard library, and of that only what is loaded anyway: the file runs inside the
sandbox, where every import costs every program.
"""

import builtins
import itertools
import json
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

MAX_BYTES = 2 * 2**20
MAX_NODES = 200_000
MAX_DEPTH = 100
MAX_ITERATED = 10_000
MAX_INT_BITS = 10**6
MAX_MESSAGE = 4000
_SAFE_INT = 2**53

_text: Callable[[str], str] = json.encoder.encode_basestring_ascii
_type = type
_id = id
_hex = hex
_len = len
_qualname = type.__dict__["__qualname__"].__get__
_mro = type.__dict__["__mro__"].__get__
_address = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")
_BUILTIN_ERRORS = {
    kind
    for kind in vars(builtins).values()
    if isinstance(kind, type) and issubclass(kind, BaseException)
}


class Unencodable(Exception):
    """The value is beyond a bound; the text says which."""


class Undecodable(ValueError):
    """The text stands for something that cannot be made again here."""


def encode(
    value: object,
    *,
    max_bytes: int = MAX_BYTES,
    max_nodes: int = MAX_NODES,
    max_depth: int = MAX_DEPTH,
) -> str:
    """Return the canonical text of a value.

    Args:
        value: anything.
        max_bytes: longest text, in bytes (the text is ASCII).
        max_nodes: most values in it, nested ones counted.
        max_depth: deepest nesting.

    Raises:
        Unencodable: the value is larger than a bound, or an iterator does not end.
        BaseException: whatever an iterator of the program raises.
    """
    try:
        text = _Encoder(max_bytes, max_nodes, max_depth).encode(value)
    except RecursionError as error:
        raise Unencodable("nested too deeply") from error
    if _len(text) > max_bytes:
        raise Unencodable(f"more than {max_bytes} bytes")
    return text


def join_list(texts: Iterable[str]) -> str:
    """Return the text of the list whose items have these texts."""
    return _join("l", texts)


def encode_exception(error: BaseException) -> str:
    """Return ``[class, nearest builtin class, message]`` as JSON text.

    The message is cut to 4,000 characters and its addresses are replaced. Getting it runs the
    program's ``__str__``; one that fails gives an empty message.
    """
    kind = _type(error)
    nearest = next(base for base in _mro(kind) if base in _BUILTIN_ERRORS)
    try:
        message = str.__str__(str(error))
    except Exception:
        message = ""
    message = _address.sub("0x...", message[:MAX_MESSAGE])
    return f"[{_name(kind)},{_name(nearest)},{_text(message)}]"


class _Encoder:
    """One value's walk, with its bounds."""

    def __init__(self, max_bytes: int, max_nodes: int, max_depth: int) -> None:
        self.room = self.max_bytes = max_bytes
        self.nodes = self.max_nodes = max_nodes
        self.max_depth = max_depth
        self.path: list[int] = []

    def encode(self, value: Any) -> str:
        self.nodes -= 1
        if self.nodes < 0:
            raise Unencodable(f"more than {self.max_nodes} values")
        kind = _type(value)
        if (simple := _SIMPLE.get(kind)) is not None:
            return self._spend(simple(value, self.room))
        if (nested := _NESTED.get(kind)) is not None:
            return self._enter(value, nested)
        if kind in _ITERATED:
            return self._enter(value, _iterated)
        return self._uncommon(value, kind)

    def each(self, values: Iterable[Any]) -> list[str]:
        return [self.encode(value) for value in values]

    def _uncommon(self, value: Any, kind: type) -> str:
        if (text := _from_numpy(value, kind, self)) is not None:
            return self._spend(text)
        if (text := _from_library(value, kind)) is not None:
            return self._spend(text)
        for base in _mro(kind)[1:]:
            if base in _SIMPLE:
                return self._spend(_join("u", [_name(kind), _SIMPLE[base](value, self.room)]))
            if base in _NESTED:
                return _join("u", [_name(kind), self._enter(value, _NESTED[base])])
        return self._spend(_join("o", [_name(kind)]))

    def _enter(self, value: Any, nested: "_Nested") -> str:
        if _id(value) in self.path:
            return f'["R",{_len(self.path) - self.path.index(_id(value))}]'
        if _len(self.path) >= self.max_depth:
            raise Unencodable(f"nested deeper than {self.max_depth}")
        self.path.append(_id(value))
        try:
            return nested(value, self)
        finally:
            self.path.pop()

    def _spend(self, text: str) -> str:
        self.room -= _len(text)
        if self.room < 0:
            raise Unencodable(f"more than {self.max_bytes} bytes")
        return text


_Simple = Callable[[Any, int], str]
_Nested = Callable[[Any, _Encoder], str]


def _join(tag: str, parts: Iterable[str]) -> str:
    return f'["{tag}",{",".join(parts)}]' if (parts := list(parts)) else f'["{tag}"]'


def _name(kind: type) -> str:
    return _text(_qualname(kind))


def _int(value: Any, _room: int) -> str:
    exact = int.__index__(value)
    if -_SAFE_INT <= exact <= _SAFE_INT:
        return int.__repr__(exact)
    if int.bit_length(exact) > MAX_INT_BITS:
        raise Unencodable(f"an integer of more than {MAX_INT_BITS} bits")
    return f'["i","{_hex(exact)}"]'


def _str(value: Any, room: int) -> str:
    if str.__len__(value) > room:
        raise Unencodable("too many bytes")
    return _text(str.__str__(value))


def _bytes(value: Any, room: int) -> str:
    return _hexed("b", bytes.__len__(value), room, lambda: bytes.hex(value))


def _bytearray(value: Any, room: int) -> str:
    return _hexed("B", bytearray.__len__(value), room, lambda: bytearray.hex(value))


def _hexed(tag: str, size: int, room: int, make: Callable[[], str]) -> str:
    if 2 * size > room:
        raise Unencodable("too many bytes")
    return f'["{tag}","{make()}"]'


def _complex(value: Any, _room: int) -> str:
    exact = complex.__complex__(value)
    return f'["c","{float.hex(exact.real)}","{float.hex(exact.imag)}"]'


_SIMPLE: dict[type, _Simple] = {
    type(None): lambda _value, _room: "null",
    bool: lambda value, _room: "true" if value is True else "false",
    int: _int,
    str: _str,
    float: lambda value, _room: f'["f","{float.hex(value)}"]',
    complex: _complex,
    bytes: _bytes,
    bytearray: _bytearray,
}
_NESTED: dict[type, _Nested] = {
    list: lambda value, encoder: _join("l", encoder.each(list.__iter__(value))),
    tuple: lambda value, encoder: _join("t", encoder.each(tuple.__iter__(value))),
    deque: lambda value, encoder: _join("q", encoder.each(deque.__iter__(value))),
    dict: lambda value, encoder: _join(
        "d", encoder.each(part for pair in dict.items(value) for part in pair)
    ),
    set: lambda value, encoder: _join("s", sorted(encoder.each(set.__iter__(value)))),
    frozenset: lambda value, encoder: _join("S", sorted(encoder.each(frozenset.__iter__(value)))),
    range: lambda value, encoder: _join("r", encoder.each((value.start, value.stop, value.step))),
    slice: lambda value, encoder: _join("/", encoder.each((value.start, value.stop, value.step))),
}
_ITERATED: set[type] = {
    type(iter([])),
    type(reversed([])),
    type(iter(())),
    type(iter("")),
    type(iter("\u00e9")),
    type(iter(b"")),
    type(iter(range(0))),
    type(iter(range(2**70))),
    type(iter({})),
    type(iter({}.values())),
    type(iter({}.items())),
    type(reversed({})),
    type(iter(set())),
    type({}.keys()),
    type({}.values()),
    type({}.items()),
    type(_ for _ in ()),
    map,
    zip,
    filter,
    enumerate,
    reversed,
    *(kind for kind in vars(itertools).values() if isinstance(kind, type)),
}


def _iterated(value: Any, encoder: _Encoder) -> str:
    """Run an iterator; what it raises is the program's own error."""
    items: list[str] = []
    for item in value:
        if _len(items) == MAX_ITERATED:
            raise Unencodable(f"an iterator of more than {MAX_ITERATED} items")
        items.append(encoder.encode(item))
    return _join("it", [_name(_type(value)), *items])


def _from_library(value: Any, kind: type) -> str | None:
    """Text of exact types of standard modules that the program has loaded, else None."""
    module = sys.modules.get(_LIBRARY.get(_qualname(kind), ""))
    if module is None or vars(module).get(_qualname(kind)) is not kind:
        return None
    name: str = _qualname(kind)
    if name == "Decimal":
        return _join("D", [_text(kind.__str__(value))])
    if name == "Fraction":
        return _join("F", [_int(value._numerator, 0), _int(value._denominator, 0)])
    if name == "timedelta":
        parts = (value.days, value.seconds, value.microseconds)
        return _join("T", [_text(name), _text(",".join(map(str, parts)))])
    return _join("T", [_text(name), _text(kind.isoformat(value))])


_LIBRARY = {
    "Decimal": "decimal",
    "Fraction": "fractions",
    "date": "datetime",
    "datetime": "datetime",
    "time": "datetime",
    "timedelta": "datetime",
}


def _from_numpy(value: Any, kind: type, encoder: _Encoder) -> str | None:
    """Text of numpy arrays and scalars of numpy's own types, else None."""
    numpy: Any = sys.modules.get("numpy")
    if numpy is None:
        return None
    if kind is numpy.ndarray:
        shape = [int(size) for size in value.shape]
        array: Any = kind
        items = encoder.each(array.tolist(array.ravel(value)))
        return _join("A", [_text(value.dtype.str), _join("t", map(str, shape)), *items])
    if numpy.generic in _mro(kind) and vars(numpy).get(_qualname(kind)) is kind:
        return _join("N", [_text(value.dtype.str), encoder.encode(numpy.generic.item(value))])
    return None


def loads(text: str, *, max_bytes: int = 2 * MAX_BYTES) -> Any:
    """Parse the JSON of a text that nobody vouches for.

    Raises:
        ValueError: it is no JSON, is too long or nested too deeply, or holds NaN or Infinity.
    """
    if len(text) > max_bytes:
        raise ValueError(f"more than {max_bytes} bytes")
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def decode(text: str) -> Any:
    """Return the value that a text stands for; a subclass comes back as its base value.

    Iterators come back as fresh iterators over the same items.

    Raises:
        Undecodable: the text is no encoding, or holds something that cannot be made again.
    """
    try:
        return _decode(loads(text))
    except Undecodable:
        raise
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError) as error:
        raise Undecodable(str(error)) from error


def _decode(tree: Any) -> Any:
    if type(tree) is not list:
        if type(tree) in (dict, float):
            raise Undecodable(f"no encoding: {tree!r:.100}")
        return tree
    tag, *parts = tree
    make = _DECODERS.get(tag) if type(tag) is str else None
    if make is None:
        raise Undecodable(f"nothing can be made of {tag!r:.100}")
    return make(parts)


def _decode_all(parts: list[Any]) -> Iterator[Any]:
    return (_decode(part) for part in parts)


def _decode_dict(parts: list[Any]) -> dict[Any, Any]:
    values = list(_decode_all(parts))
    return dict(zip(values[::2], values[1::2], strict=True))


def _decode_decimal(parts: list[Any]) -> Any:
    from decimal import Decimal

    return Decimal(parts[0])


def _decode_fraction(parts: list[Any]) -> Any:
    from fractions import Fraction

    return Fraction(_decode(parts[0]), _decode(parts[1]))


def _decode_time(parts: list[Any]) -> Any:
    import datetime

    name, text = parts
    if name == "timedelta":
        return datetime.timedelta(*(int(part) for part in text.split(",")))
    if name not in ("date", "datetime", "time"):
        raise Undecodable(f"no time type: {name!r:.100}")
    return getattr(datetime, name).fromisoformat(text)


_DECODERS: dict[str, Callable[[list[Any]], Any]] = {
    "i": lambda parts: int(parts[0], 16),
    "f": lambda parts: float.fromhex(parts[0]),
    "c": lambda parts: complex(*map(float.fromhex, parts)),
    "b": lambda parts: bytes.fromhex(parts[0]),
    "B": lambda parts: bytearray.fromhex(parts[0]),
    "l": lambda parts: list(_decode_all(parts)),
    "t": lambda parts: tuple(_decode_all(parts)),
    "q": lambda parts: deque(_decode_all(parts)),
    "s": lambda parts: set(_decode_all(parts)),
    "S": lambda parts: frozenset(_decode_all(parts)),
    "d": _decode_dict,
    "r": lambda parts: range(*_decode_all(parts)),
    "/": lambda parts: slice(*_decode_all(parts)),
    "D": _decode_decimal,
    "F": _decode_fraction,
    "T": _decode_time,
    "N": lambda parts: _decode(parts[1]),
    "u": lambda parts: _decode(parts[1]),
    "it": lambda parts: iter(list(_decode_all(parts[1:]))),
}
