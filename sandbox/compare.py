"""Comparing encoded values, in the parent. Nothing is ever made live again.

Each encoding is turned into a plain *view* in which Python's own ``==`` means the right thing:
numbers are exact rationals (so 1, 1.0, True, Decimal(1) and Fraction(1) are equal, as in Python),
containers are tagged tuples, sets and dicts are keyed by hashable views. Only numbers, text and
tuples are compared, in time linear in the size of the text (expected time, for sets and dicts).
"""

import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sandbox.encoding import loads

RTOL = 1e-7
"""Relative tolerance that ``approx`` adds to a test's own ``atol``."""
# A few hostile bytes must not cost the judge seconds of arithmetic.
MAX_EXPONENT = 10_000
MAX_FRACTION_BITS = 20_000


def equal(actual: str, expected: str, comparator: str, atol: float | None = None) -> bool:
    """Tell whether two encoded values are equal.

    Args:
        actual: canonical text of what a program returned; hostile bytes.
        expected: canonical text of what it should have returned.
        comparator: ``exact``, the texts are equal; ``python``, Python's ``==`` would say so;
            ``approx``, as ``python``, but finite floats may differ by ``atol`` + 1e-7 times the
            expected one, at any depth of lists, tuples, deques, dict values and arrays.
        atol: absolute tolerance of ``approx``; null means 1e-6.

    NaN equals NaN in all three: a test whose right answer is NaN could not be passed otherwise.
    An opaque object, a cyclic value and a text that is no encoding equal nothing.

    Raises:
        ValueError: there is no such comparator, or ``expected`` is no encoding.
    """
    if comparator not in ("exact", "python", "approx"):
        raise ValueError(f"no such comparator: {comparator!r}")
    wanted = loads(expected)
    try:
        given = loads(actual)
        if comparator == "exact":
            return actual == expected and not _opaque(given)
        if comparator == "python":
            return bool(_view(given) == _view(wanted))
        return _near(given, wanted, 1e-6 if atol is None else atol)
    except (_Incomparable, ValueError, TypeError, LookupError, ArithmeticError, RecursionError):
        return False


class _Incomparable(Exception):
    """A value that equals nothing."""


def _opaque(tree: Any) -> bool:
    if type(tree) is not list:
        return False
    return tree[:1] in (["o"], ["R"]) or any(_opaque(part) for part in tree)


def _view(tree: Any) -> Any:
    """Return the hashable view of a tree."""
    if tree is None or type(tree) is str:
        return tree
    if type(tree) in (bool, int):
        return _number(Fraction(tree))
    if type(tree) is not list or not tree or type(tree[0]) is not str:
        raise _Incomparable
    make = _VIEWS.get(tree[0])
    if make is None:
        raise _Incomparable
    return make(tree[1:])


def _number(real: Any, imaginary: Any = Fraction(0)) -> Any:
    return ("number", real, imaginary)


def _float(text: str) -> Any:
    value = float.fromhex(text)
    if math.isnan(value):
        return "nan"
    return Fraction(value) if math.isfinite(value) else str(value)


def _decimal(text: str) -> Any:
    value = Decimal(text)
    if value.is_nan():
        return "nan"
    if value.is_finite() and abs(value.adjusted()) > MAX_EXPONENT:
        return str(value.normalize())
    return Fraction(value) if value.is_finite() else str(float(value))


def _sequence(tag: str) -> Callable[[list[Any]], Any]:
    return lambda parts: (tag, *map(_view, parts))


def _set(parts: list[Any]) -> Any:
    return ("set", frozenset(map(_view, parts)))


def _dict(parts: list[Any]) -> Any:
    values = [_view(part) for part in parts]
    return ("dict", frozenset(zip(values[::2], values[1::2], strict=True)))


def _range(parts: list[Any]) -> Any:
    start, stop, step = (part if type(part) is int else int(part[1], 16) for part in parts)
    # Python compares ranges as the sequences they stand for.
    numbers = range(start, stop, step)
    if not numbers:
        return ("range",)
    only = numbers[0] == numbers[-1]
    return ("range", numbers[0], numbers[-1], None if only else step)


_VIEWS: dict[str, Callable[[list[Any]], Any]] = {
    "i": lambda parts: _number(Fraction(int(parts[0], 16))),
    "f": lambda parts: _number(_float(parts[0])),
    "c": lambda parts: _number(_float(parts[0]), _float(parts[1])),
    "D": lambda parts: _number(_decimal(parts[0])),
    "F": lambda parts: _number(_fraction(parts)),
    "N": lambda parts: _view(parts[1]),
    "b": lambda parts: ("bytes", parts[0]),
    "B": lambda parts: ("bytes", parts[0]),
    "l": _sequence("l"),
    "t": _sequence("t"),
    "q": _sequence("q"),
    "it": _sequence("it"),
    "A": lambda parts: ("array", _view(parts[1]), *map(_view, parts[2:])),
    "s": _set,
    "S": _set,
    "d": _dict,
    "r": _range,
    "/": _sequence("/"),
    "T": lambda parts: ("time", *parts),
    "u": lambda parts: _view(parts[1]),
}


def _fraction(parts: list[Any]) -> Fraction:
    above, below = _integer(parts[0]), _integer(parts[1])
    if max(above.bit_length(), below.bit_length()) > MAX_FRACTION_BITS:
        raise _Incomparable
    return Fraction(above, below)


def _integer(tree: Any) -> int:
    return tree if type(tree) is int else int(tree[1], 16)


def _near(given: Any, wanted: Any, atol: float) -> bool:
    given, wanted = _base(given), _base(wanted)
    if _is_float(wanted) or (_is_float(given) and _is_number(wanted)):
        return _near_number(given, wanted, atol)
    if type(given) is list and type(wanted) is list and given[:1] == wanted[:1]:
        tag, *parts = wanted
        if tag in ("l", "t", "q", "it"):
            return _all_near(given[1:], parts, atol)
        if tag == "A":
            return given[2] == wanted[2] and _all_near(given[3:], wanted[3:], atol)
        if tag == "d":
            return _near_dict(given[1:], parts, atol)
    return bool(_view(given) == _view(wanted))


def _all_near(given: list[Any], wanted: list[Any], atol: float) -> bool:
    return len(given) == len(wanted) and all(
        _near(a, b, atol) for a, b in zip(given, wanted, strict=True)
    )


def _near_dict(given: list[Any], wanted: list[Any], atol: float) -> bool:
    has = {_view(key): value for key, value in _pairs(given)}
    needs = {_view(key): value for key, value in _pairs(wanted)}
    return has.keys() == needs.keys() and all(_near(has[k], needs[k], atol) for k in needs)


def _pairs(parts: list[Any]) -> Iterable[tuple[Any, Any]]:
    return zip(parts[::2], parts[1::2], strict=True)


def _near_number(given: Any, wanted: Any, atol: float) -> bool:
    if not _is_number(given):
        return False
    a, b = _view(given), _view(wanted)
    if a == b:
        return True
    values = (*a[1:], *b[1:])
    if any(type(value) is not Fraction for value in values):
        return False
    # Exact arithmetic: no rounding decides at the edge, and huge integers do not overflow.
    bound = Fraction(atol) + Fraction(RTOL) * max(abs(b[1]), abs(b[2]))
    return bool(abs(a[1] - b[1]) <= bound and abs(a[2] - b[2]) <= bound)


def _base(tree: Any) -> Any:
    while type(tree) is list and tree[:1] in (["u"], ["N"]):
        tree = tree[2]
    return tree


def _is_float(tree: Any) -> bool:
    return type(tree) is list and tree[:1] in (["f"], ["c"])


def _is_number(tree: Any) -> bool:
    if type(tree) is list:
        return tree[:1] in (["i"], ["f"], ["c"], ["D"], ["F"])
    return type(tree) in (int, bool)
