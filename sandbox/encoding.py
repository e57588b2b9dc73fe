"""Values as text: what leaves the process of an untrusted program.

A value becomes canonical JSON, a small tree in which every list starts with a tag:

    None True 7 "text"                 themselves: small ints, text without surrogates
    ["i", hex] ["su", hex]             larger int; text with surrogates, as UTF-8
    ["f", hex] ["c", re, im]           float, complex, exactly
    ["b", hex] ["ba", hex]             bytes, bytearray
    ["l", ...] ["t", ...] ["q", max, ...]   list, tuple, deque
    ["s", ...] ["fs", ...]             set, frozenset, sorted by the items' text
    ["d", key, value, ...]             dict, in its order
    ["r", a, b, c] ["sl", a, b, c]     range, slice
    ["k", name]                        Ellipsis, NotImplemented
    ["D", text] ["F", n, d]            Decimal, Fraction
    ["date", iso] ["time", iso] ["dt", iso] ["td", days, seconds, us]   of datetime
    ["A", dtype, shape, ...] ["N", dtype, value]   numpy array (flat), numpy scalar
    ["u", name, value]                 instance of a subclass: the value it has as its base class
    ["it", name, ...]                  iterator or dict view: what it yields
    ["R", up]                          the container ``up`` levels above: a cycle
    ["o", name]                        anything else; it equals nothing, not even itself

Theory of operation. The program shares this process, so its objects are never asked what they are.
A type is known by identity or, if it is a static type of the interpreter or of an extension module,
by the name in its C structure; neither can be forged by Python code, unlike ``__class__``,
``sys.modules`` or a metaclass's ``__name__``. An instance of a subclass is read through its base
class's slots. Types are looked up by ``id``: as keys of a dict they would run a metaclass's
``__hash__``. Program code runs in one place only, where an iterator is run to see what it yields.

Only the standard library, and of that only what is loaded anyway: every import would cost every
program.
"""

import itertools
import json
import re
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
from collections.abc import Callable, Iterable
from types import MemberDescriptorType, ModuleType
from typing import Any

from sandbox.decoding import Undecodable, decode, loads

__all__ = [
    "Undecodable",
    "Unencodable",
    "decode",
    "encode",
    "encode_exception",
    "join_list",
    "loads",
]

MAX_BYTES = 2 * 2**20
MAX_NODES = 200_000
MAX_DEPTH = 200
MAX_ITEMS = 10_000
"""Longest iterator that is run to its end."""
MAX_INT_BITS = 10**6
MAX_MESSAGE = 4_000
"""Longest exception message, in characters."""

_SMALL = 2**53
_HEAP_TYPE = 1 << 9
_MAX_NAME = 200
_quote: Callable[[str], str] = json.encoder.encode_basestring_ascii
_flags_of = type.__dict__["__flags__"].__get__
_module_of = type.__dict__["__module__"].__get__
_mro_of = type.__dict__["__mro__"].__get__
_name_of = type.__dict__["__name__"].__get__
_namespace_of = type.__dict__["__dict__"].__get__
_maxlen_of = deque.__dict__["maxlen"].__get__
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,16}\b")


class Unencodable(Exception):
    """The value exceeds a bound; the message says which."""


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
        max_bytes: longest text, in bytes (it is ASCII).
        max_nodes: most items of all containers together.
        max_depth: deepest nesting of the text's lists.

    Raises:
        Unencodable: the value exceeds a bound.
        BaseException: whatever an iterator of the program raises under way.
    """
    text = _Encoder(max_bytes, max_nodes, max_depth).text(value)
    if len(text) > max_bytes:
        raise Unencodable(f"more than {max_bytes} bytes")
    return text


def join_list(texts: Iterable[str]) -> str:
    """Return the text of the list whose items have these texts."""
    return _join('["l"', list(texts))


def encode_exception(error: BaseException) -> str:
    """Return ``[class name, nearest builtin class, message]`` as JSON.

    The message is cut to 4,000 characters and its addresses are replaced. It is made by the
    exception's own ``__str__``, which may run for ever; one that fails leaves the message empty.
    """
    kind = type(error)
    nearest = next(base for base in _mro_of(kind) if _static_name(base)[0] == "builtins")
    try:
        message = str.__str__(str(error))[:MAX_MESSAGE]
    except BaseException:  # SystemExit too: the program's code must not decide what happens here
        message = ""
    return f"[{_name(kind)},{_name(nearest)},{_quote(_ADDRESS.sub('0x...', message))}]"


class _Encoder:
    """One value's bounds and its path from the root."""

    __slots__ = ("depth", "max_bytes", "max_depth", "max_nodes", "nodes", "path", "room")

    def __init__(self, max_bytes: int, max_nodes: int, max_depth: int) -> None:
        self.room = self.max_bytes = max_bytes
        self.nodes = self.max_nodes = max_nodes
        self.max_depth = max_depth
        self.depth = 0
        self.path: dict[int, int] = {}
        """Position of each container on the path, by its id."""

    def text(self, value: Any) -> str:
        kind = type(value)
        # The two most frequent types, without the detour.
        if kind is int and -_SMALL <= value <= _SMALL:
            return int.__repr__(value)
        if kind is str and value.isascii():
            self.spend(len(value))
            return _quote(value)
        return (_WRITERS.get(id(kind)) or _find_writer(kind))(self, value, kind)

    def spend(self, size: int) -> None:
        """Take ``size`` bytes, at most what the text will need, from the room there is."""
        self.room -= size
        if self.room < 0:
            raise Unencodable(f"more than {self.max_bytes} bytes")

    def check(self, count: int) -> None:
        """Make sure, before they are looked at, that ``count`` more items are allowed."""
        if count > self.nodes:
            raise Unencodable(f"more than {self.max_nodes} items")

    def wrapped(self, start: str, value: Any, kind: Any, writer: "_Writer") -> str:
        """Return the text of a value inside a list of its own."""
        self.depth += 1
        if self.depth > self.max_depth:
            raise Unencodable(f"nested deeper than {self.max_depth}")
        text = writer(self, value, kind)
        self.depth -= 1
        return f"{start},{text}]"

    def nested(self, start: str, container: object, items: list[Any], order: Any = list) -> str:
        """Return the text of a container of these items, or of the way back to it."""
        position = self.path.get(id(container))
        if position is not None:
            return f'["R",{len(self.path) - position}]'
        self.check(len(items))
        self.nodes -= len(items)
        self.depth += 1
        if self.depth > self.max_depth:
            raise Unencodable(f"nested deeper than {self.max_depth}")
        self.path[id(container)] = len(self.path)
        text = self.text
        texts = [text(item) for item in items]
        del self.path[id(container)]
        self.depth -= 1
        return _join(start, order(texts))


_Writer = Callable[[_Encoder, Any, Any], str]
"""Writes a value as an instance of the type given last, which is its own or a base of it."""


def _join(start: str, texts: list[str]) -> str:
    return f"{start},{','.join(texts)}]" if texts else start + "]"


def _name(kind: type) -> str:
    # Not __qualname__: a function's new name must not rename the classes inside it.
    return _quote(str.__str__(_name_of(kind))[:_MAX_NAME])


def _static_name(kind: type) -> tuple[str, str]:
    """Return module and name of a static type, from its C structure; empty for any other."""
    if _flags_of(kind) & _HEAP_TYPE:
        return "", ""
    return _module_of(kind), _name_of(kind)


def _is_fraction(kind: type) -> bool:
    # The one type here that is written in Python, and so has no name in C.
    module = sys.modules.get("fractions")
    return type(module) is ModuleType and vars(module).get("Fraction") is kind


def _find_writer(kind: type) -> "_Writer":
    """Return the writer of a type that is not among the common ones."""
    name = _static_name(kind)
    if (writer := _BY_NAME.get(name)) is None:
        if _is_fraction(kind):
            return _write_fraction
        bases = _mro_of(kind)[1:]
        if name[0] == "numpy" and any(_static_name(base) == _GENERIC for base in bases):
            writer = _write_numpy_scalar
        else:
            writer = next(filter(None, map(_base_writer, bases)), _write_opaque)
    if name[0]:
        # A static type lives for ever, so that its id is never another's.
        _WRITERS[id(kind)] = writer
    return writer


def _base_writer(base: type) -> "_Writer | None":
    """Return the writer for instances of a base's subclasses, if it holds a value of its own."""
    writer = _WRITERS.get(id(base)) or _find_writer(base)
    if writer in (_write_opaque, _write_iterator):
        return None
    return lambda encoder, value, kind: encoder.wrapped(f'["u",{_name(kind)}', value, base, writer)


_GENERIC = ("numpy", "generic")


def _write_opaque(_encoder: _Encoder, _value: Any, kind: Any) -> str:
    return f'["o",{_name(kind)}]'


def _write_int(encoder: _Encoder, value: Any, _kind: Any) -> str:
    exact = int.__index__(value)
    if -_SMALL <= exact <= _SMALL:
        return int.__repr__(exact)
    if exact.bit_length() > MAX_INT_BITS:
        raise Unencodable(f"an integer of more than {MAX_INT_BITS} bits")
    encoder.spend(exact.bit_length() // 4)
    return f'["i","{exact:#x}"]'


def _write_str(encoder: _Encoder, value: Any, _kind: Any) -> str:
    exact = str.__str__(value)
    encoder.spend(len(exact))
    if not exact.isascii():
        try:
            exact.encode()
        except UnicodeEncodeError:
            # As JSON escapes, a high and a low surrogate would turn into one character.
            return f'["su","{exact.encode("utf-8", "surrogatepass").hex()}"]'
    return _quote(exact)


def _write_bytes(encoder: _Encoder, value: Any, kind: Any) -> str:
    encoder.spend(2 * kind.__len__(value))
    return f'["{"b" if kind is bytes else "ba"}","{kind.hex(value)}"]'


def _write_complex(_encoder: _Encoder, value: Any, _kind: Any) -> str:
    exact = complex.__complex__(value)
    return f'["c","{exact.real.hex()}","{exact.imag.hex()}"]'


def _write_list(encoder: _Encoder, value: Any, _kind: Any) -> str:
    encoder.check(list.__len__(value))
    return encoder.nested('["l"', value, [*list.__iter__(value)])


def _write_tuple(encoder: _Encoder, value: Any, _kind: Any) -> str:
    encoder.check(tuple.__len__(value))
    return encoder.nested('["t"', value, [*tuple.__iter__(value)])


def _write_deque(encoder: _Encoder, value: Any, _kind: Any) -> str:
    encoder.check(deque.__len__(value))
    return encoder.nested('["q"', value, [_maxlen_of(value), *deque.__iter__(value)])


def _write_set(encoder: _Encoder, value: Any, kind: Any) -> str:
    encoder.check(kind.__len__(value))
    start = '["s"' if kind is set else '["fs"'
    return encoder.nested(start, value, [*kind.__iter__(value)], sorted)


def _write_dict(encoder: _Encoder, value: Any, _kind: Any) -> str:
    encoder.check(2 * dict.__len__(value))
    return encoder.nested('["d"', value, [part for pair in dict.items(value) for part in pair])


def _write_ordered_dict(encoder: _Encoder, value: Any, kind: Any) -> str:
    return encoder.wrapped(f'["u",{_name(kind)}', value, kind, _write_in_own_order)


def _write_in_own_order(encoder: _Encoder, value: Any, kind: Any) -> str:
    # Its own order differs from the dict's after move_to_end, but walking in it hashes the keys,
    # which may run code of the program.
    if any(type(key) not in (str, int, float, bool, bytes) for key in dict.keys(value)):
        return _write_dict(encoder, value, kind)
    keys = [*OrderedDict.__iter__(value)]
    pairs = [part for key in keys for part in (key, dict.__getitem__(value, key))]
    return encoder.nested('["d"', value, pairs)


def _write_bounds(encoder: _Encoder, value: Any, kind: Any) -> str:
    parts = [value.start, value.stop, value.step]
    return encoder.nested('["r"' if kind is range else '["sl"', value, parts)


def _write_iterator(encoder: _Encoder, value: Any, kind: Any) -> str:
    # Program code runs in this line and in no other.
    items = list(itertools.islice(value, MAX_ITEMS + 1))
    if len(items) > MAX_ITEMS:
        raise Unencodable(f"an iterator of more than {MAX_ITEMS} items")
    return encoder.nested(f'["it",{_name(kind)}', value, items)


def _write_decimal(encoder: _Encoder, value: Any, kind: Any) -> str:
    # Upper case, whatever the program's decimal context says.
    text = kind.__str__(value).upper()
    encoder.spend(len(text))
    return f'["D","{text}"]'


def _write_fraction(encoder: _Encoder, value: Any, kind: Any) -> str:
    slots = [_namespace_of(kind).get(name) for name in ("_numerator", "_denominator")]
    if any(type(slot) is not MemberDescriptorType for slot in slots):
        return _write_opaque(encoder, value, kind)
    parts = [slot.__get__(value) for slot in slots]
    if any(type(part) is not int for part in parts):
        return _write_opaque(encoder, value, kind)
    return encoder.nested('["F"', value, parts)


def _write_date(_encoder: _Encoder, value: Any, kind: Any) -> str:
    return f'["date","{kind.isoformat(value)}"]'


def _write_time(encoder: _Encoder, value: Any, kind: Any) -> str:
    zone = kind.tzinfo.__get__(value)
    # A time zone of another type would be called, and may be the program's.
    if zone is not None and _static_name(type(zone)) != ("datetime", "timezone"):
        return _write_opaque(encoder, value, kind)
    return f'["{"dt" if _name_of(kind) == "datetime" else "time"}","{kind.isoformat(value)}"]'


def _write_timedelta(_encoder: _Encoder, value: Any, kind: Any) -> str:
    parts = [getattr(kind, name).__get__(value) for name in ("days", "seconds", "microseconds")]
    return _join('["td"', [int.__repr__(part) for part in parts])


def _write_array(encoder: _Encoder, value: Any, kind: Any) -> str:
    array = kind.view(value, kind)
    encoder.check(array.size)
    shape = ",".join(map(str, array.shape))
    start = f'["A",{_quote(array.dtype.str)},[{shape}]'
    return encoder.nested(start, value, array.reshape(-1).tolist())


def _write_numpy_scalar(encoder: _Encoder, value: Any, kind: Any) -> str:
    item = kind.item(value)
    if type(item) is kind:  # longdouble has no Python type to go to
        return _write_opaque(encoder, value, kind)
    start = f'["N",{_quote(kind.dtype.__get__(value).str)}'
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
_WRITERS: dict[int, _Writer] = {
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
_BY_NAME: dict[tuple[str, str], _Writer] = {
    ("decimal", "Decimal"): _write_decimal,
    ("datetime", "date"): _write_date,
    ("datetime", "time"): _write_time,
    ("datetime", "datetime"): _write_time,
    ("datetime", "timedelta"): _write_timedelta,
    ("numpy", "ndarray"): _write_array,
}
