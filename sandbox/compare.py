"""Comparing encoded values, in the parent. Nothing is ever made live again."""

from collections.abc import Iterable
from itertools import chain
from typing import Any

from sandbox.canonical import Incomparable, equality_key
from sandbox.decoding import loads

RTOL = 1e-7
"""Relative tolerance that ``approx`` adds to a test's own ``atol``."""
DEFAULT_ATOL = 1e-6


def equal(actual: str, expected: str, comparator: str, atol: float | None = None) -> bool:
    """Tell whether two encoded values are equal.

    Args:
        actual: canonical text of what a program returned; nobody vouches for it.
        expected: canonical text of what it should have returned.
        comparator: ``exact``, the texts are equal; ``python``, Python's ``==`` would say so (see
            ``canonical`` for where we differ); ``approx``, as ``python``, but a float, at any
            depth, may be off by ``atol`` + 1e-7 times the expected number.
        atol: absolute tolerance of ``approx``; None means 1e-6.

    An opaque object equals nothing, not even itself; nor does a text that is no encoding.

    Raises:
        ValueError: there is no such comparator, or ``expected`` is no JSON.
    """
    if comparator not in ("exact", "python", "approx"):
        raise ValueError(f"no such comparator: {comparator!r}")
    if actual == expected:
        return not is_opaque(actual)
    if comparator == "exact":
        return False
    wanted = loads(expected)
    try:
        given = loads(actual)
    except ValueError:
        return False
    try:
        if comparator == "python":
            return equality_key(given) == equality_key(wanted)
        return _Tolerance(DEFAULT_ATOL if atol is None else atol).holds(given, wanted)
    except Incomparable:
        return False


def is_opaque(text: str) -> bool:
    """Tell whether an encoding holds something that cannot be looked into."""
    # In canonical text this is always the tag: a quote inside a string is escaped.
    return '["o",' in text


class _Tolerance:
    """Equality with room for floats."""

    def __init__(self, atol: float) -> None:
        self.atol = atol

    def holds(self, given: Any, wanted: Any) -> bool:
        given, wanted = _base(given), _base(wanted)
        if _tag(given) in ("f", "c") or _tag(wanted) in ("f", "c"):
            return self._numbers(given, wanted)
        kind = _kind(wanted)
        if kind is None or kind != _kind(given):
            return equality_key(given) == equality_key(wanted)
        if kind in ("set", "dict"):
            return self._unordered(_members(given), _members(wanted))
        if kind == "A" and given[2] != wanted[2]:
            return False
        return self._in_order(_items(given), _items(wanted))

    def _numbers(self, given: Any, wanted: Any) -> bool:
        a, b = _number(given), _number(wanted)
        if a is None or b is None or not (_is_finite(a) and _is_finite(b)):
            return equality_key(given) == equality_key(wanted)
        parts = ((a.real, b.real), (a.imag, b.imag))
        return all(abs(x - y) <= self.atol + RTOL * abs(y) for x, y in parts)

    def _in_order(self, given: list[Any], wanted: list[Any]) -> bool:
        return len(given) == len(wanted) and all(map(self.holds, given, wanted))

    def _unordered(self, given: list[list[Any]], wanted: list[list[Any]]) -> bool:
        """Pair off equal keys, then what is left in sorted order: the best pairs for numbers."""
        if len(given) != len(wanted):
            return False
        ours = {equality_key(member[0]): member for member in given}
        theirs = {equality_key(member[0]): member for member in wanted}
        shared = ours.keys() & theirs.keys()
        pairs = chain(
            ((ours[key], theirs[key]) for key in shared),
            zip(_sorted_rest(ours, shared), _sorted_rest(theirs, shared), strict=True),
        )
        return all(self._in_order(a, b) for a, b in pairs)


def _base(tree: Any) -> Any:
    """Return what an instance of a subclass or a numpy scalar is as a plain value."""
    while _tag(tree) in ("u", "N") and len(tree) == 3:
        tree = tree[2]
    return tree


def _tag(tree: Any) -> Any:
    return tree[0] if type(tree) is list and tree else None


_KINDS = {tag: tag for tag in ("l", "t", "q", "it", "A")} | {"s": "set", "fs": "set", "d": "dict"}


def _kind(tree: Any) -> str | None:
    tag = _tag(tree)
    return _KINDS.get(tag) if type(tag) is str else None


def _items(tree: list[Any]) -> list[Any]:
    return tree[{"q": 2, "it": 2, "A": 3}.get(tree[0], 1) :]


def _members(tree: list[Any]) -> list[list[Any]]:
    """Return a set's items as [item], a dict's as [key, value]."""
    if tree[0] != "d":
        return [[item] for item in tree[1:]]
    if len(tree) % 2 == 0:
        raise Incomparable("a key without a value")
    return [tree[at : at + 2] for at in range(1, len(tree), 2)]


def _sorted_rest(members: dict[str, Any], shared: Iterable[str]) -> list[Any]:
    left = [member for key, member in members.items() if key not in shared]
    return sorted(left, key=lambda member: _place(member[0]))


def _place(tree: Any) -> tuple[str, list[float]]:
    """Return where a value goes in an order that has close floats side by side."""
    numbers: list[float] = []

    def shape(tree: Any) -> str:
        tree = _base(tree)
        number = _number(tree)
        if number is not None and _is_finite(number):
            numbers.extend((number.real, number.imag))
            return "#"
        if _kind(tree) is None:
            return equality_key(tree)
        return f"{_kind(tree)}({','.join(map(shape, _items(tree)))})"

    return shape(tree), numbers


def _number(tree: Any) -> complex | None:
    """Return an int (no bool), float or complex; None for anything else or too large a number."""
    try:
        if type(tree) is int:
            return complex(tree)
        match tree:
            case ["i", str(digits)]:
                return complex(int(digits, 16))
            case ["f", str(real)]:
                return complex(float.fromhex(real))
            case ["c", str(real), str(imaginary)]:
                return complex(float.fromhex(real), float.fromhex(imaginary))
    except (ValueError, OverflowError):
        return None
    return None


def _is_finite(number: complex) -> bool:
    return abs(number.real) < float("inf") and abs(number.imag) < float("inf")
