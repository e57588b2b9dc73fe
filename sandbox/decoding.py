"""Text to values: reading what ``encoding`` wrote, or what a hostile program wrote in its stead.

Only builtin, standard and plain numpy types are ever made, each from parts that were checked; no
name that comes with the text is looked up anywhere.
"""

import json
import re
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any

MAX_BYTES = 4 * 2**20
MAX_DEPTH = 250
MAX_EQUAL_HASHES = 1000


class Undecodable(ValueError):
    """The text is no encoding, or stands for something that cannot be made again."""


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_parse = json.JSONDecoder(parse_constant=_no_constant).decode


def loads(text: str, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> Any:
    """Parse JSON that nobody vouches for.

    Raises:
        ValueError: it is no JSON, is longer than ``max_bytes`` characters, is nested deeper than
            ``max_depth`` lists and objects, or holds NaN or Infinity.
    """
    if len(text) > max_bytes:
        raise ValueError(f"more than {max_bytes} bytes")
    try:
        tree = _parse(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if text.count("[") + text.count("{") > max_depth and _is_deeper(tree, max_depth):
        raise ValueError(f"nested deeper than {max_depth}")
    return tree


def _is_deeper(tree: Any, depth: int) -> bool:
    level = [tree]
    for _ in range(depth):
        level = [child for node in level for child in _children(node)]
    return any(type(node) in (list, dict) for node in level)


def _children(node: Any) -> Iterable[Any]:
    if type(node) is list:
        return node
    return node.values() if type(node) is dict else ()


def decode(text: str) -> Any:
    """Return the value that a text stands for.

    An instance of a subclass comes back as its base class's value, unless the subclass is
    ``OrderedDict``, ``Counter`` or ``defaultdict``; an iterator as a fresh one.

    Raises:
        Undecodable: the text is no encoding, or stands for what cannot be made again: an opaque
            object, a cycle through something immutable, a numpy type that is no plain one.
    """
    try:
        return _Decoder().value(loads(text))
    except Undecodable:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise Undecodable(f"no encoding: {error}") from error


class _Decoder:
    """The containers on the path from the root; None for one that only its items can make."""

    def __init__(self) -> None:
        self.path: list[Any] = []

    def value(self, tree: Any) -> Any:
        if tree is None or type(tree) in (bool, int, str):
            return tree
        if type(tree) is not list or not tree or type(tree[0]) is not str:
            raise Undecodable("not a tagged list")
        tag, *parts = tree
        if tag in _SCALARS:
            return _SCALARS[tag](*parts)
        if tag in _IMMUTABLES:
            return _IMMUTABLES[tag](self._items(None, parts))
        match tag, parts:
            case "l", _:
                target: Any = []
                target.extend(self._items(target, parts))
            case "d", _:
                target = {}
                items = self._items(target, parts)
                target.update(zip(_hashable(items[::2]), items[1::2], strict=True))
            case "q", [maxlen, *rest]:
                target = deque(maxlen=maxlen)
                target.extend(self._items(target, rest))
            case "it", [name, *rest]:
                target = _make_iterator(name, self._items(None, rest))
            case "A", [dtype, shape, *rest]:
                target = _make_array(dtype, tuple(shape), self._items(None, rest))
            case "N", [dtype, item]:
                target = _make_array(dtype, (), [self.value(item)])[()]
            case "u", [name, base]:
                target = _make_subclass(name, self.value(base))
            case "R", [up]:
                target = self._way_back(up)
            case _:
                raise Undecodable(f"nothing can be made of {tag[:50]!r}")
        return target

    def _items(self, container: Any, parts: list[Any]) -> list[Any]:
        self.path.append(container)
        items = []
        for part in parts:  # no comprehension: its frame would count against the recursion limit
            items.append(self.value(part))
        self.path.pop()
        return items

    def _way_back(self, up: int) -> Any:
        target = self.path[-up] if 0 < up <= len(self.path) else None
        if target is None:
            raise Undecodable("a cycle through something immutable")
        return target


def _hashable(items: list[Any]) -> list[Any]:
    # Thousands of numbers with one hash would make a set or dict take quadratic time.
    if len(items) - len({hash(item) for item in items}) > MAX_EQUAL_HASHES:
        raise Undecodable("too many equal hashes")
    return items


def _make_iterator(name: str, items: list[Any]) -> Any:
    if name == "dict_keys":
        return dict.fromkeys(_hashable(items)).keys()
    if name == "dict_values":
        return dict(enumerate(items)).values()
    if name == "dict_items":
        _hashable([key for key, _ in items])
        return dict(items).items()
    return iter(items)


def _make_subclass(name: str, base: Any) -> Any:
    if type(base) is not dict:
        return base
    if name == "OrderedDict":
        return OrderedDict(base)
    if name == "Counter":
        return Counter(base)
    return defaultdict(None, base) if name == "defaultdict" else base


def _make_array(dtype: str, shape: tuple[int, ...], items: list[Any]) -> Any:
    import numpy

    if not re.fullmatch(r"[<>|=]?[biufcSU]\d+", dtype):
        raise Undecodable(f"no plain numpy type: {dtype[:50]!r}")
    # A text type is as wide as its items: a forged width would take any amount of memory.
    wanted = dtype.rstrip("0123456789") if dtype[1] in "SU" else dtype
    return numpy.array(items, dtype=wanted).reshape(shape)


def _make_decimal(text: str) -> Any:
    from decimal import Decimal

    return Decimal(text)


def _make_fraction(items: list[Any]) -> Any:
    from fractions import Fraction

    return Fraction(*items)


def _make_time(kind: str) -> Callable[[str], Any]:
    def make(text: str) -> Any:
        import datetime

        return getattr(datetime, kind).fromisoformat(text)

    return make


def _make_timedelta(days: int, seconds: int, microseconds: int) -> Any:
    from datetime import timedelta

    return timedelta(days, seconds, microseconds)


_SCALARS: dict[str, Callable[..., Any]] = {
    "i": lambda text: int(text, 16),
    "su": lambda text: bytes.fromhex(text).decode("utf-8", "surrogatepass"),
    "f": float.fromhex,
    "c": lambda re, im: complex(float.fromhex(re), float.fromhex(im)),
    "b": bytes.fromhex,
    "ba": bytearray.fromhex,
    "k": {"Ellipsis": ..., "NotImplemented": NotImplemented}.__getitem__,
    "D": _make_decimal,
    "date": _make_time("date"),
    "time": _make_time("time"),
    "dt": _make_time("datetime"),
    "td": _make_timedelta,
}
_IMMUTABLES: dict[str, Callable[[list[Any]], Any]] = {
    "t": tuple,
    "s": lambda items: set(_hashable(items)),
    "fs": lambda items: frozenset(_hashable(items)),
    "r": lambda items: range(*items),
    "sl": lambda items: slice(*items),
    "F": _make_fraction,
}
