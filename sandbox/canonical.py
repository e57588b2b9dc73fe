"""One text for all values that Python calls equal.

``exact`` equality is that of encodings. Python's own is coarser: 1 == 1.0 == True == Decimal(1),
dicts and sets have no order, a namedtuple is its tuple. ``equality_key`` maps an encoding's tree to
a text that is the same exactly for trees of equal values, so that sets and dicts of any size are
compared by sorting texts, and no value is ever made live again.

A number is written as its residue modulo a random prime, a fraction as numerator times the inverse
of its denominator. Equal numbers have equal residues whatever their type, and a residue costs no
more than reading the number: ``Decimal('1e999999999')`` is never written out. That two different
numbers share a residue has a chance of about 2**-250, and as the prime is drawn anew in each
process, no program can aim at it.

Where Python's own answer would say nothing about the program, ours differs: NaN equals NaN (the two
come from different processes, and a test whose right answer is NaN could not be passed otherwise);
two ordered dicts are compared as dicts; cyclic values are compared by their shape; iterators by
what they yield; numpy arrays by shape and items.
"""

import math
import secrets
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

MAX_DECIMAL = 4_000
"""Longest text of a decimal number that is read, in characters."""

_SMALL = 2**53
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Incomparable(Exception):
    """The tree stands for something that equals nothing, or for nothing at all."""


def equality_key(tree: Any) -> str:
    """Return a text that is the same for trees of equal values and for no others.

    Args:
        tree: parsed text of an encoding.

    Raises:
        Incomparable: there is an opaque object in it, or it is no encoding.
    """
    try:
        return _key(tree)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise Incomparable(str(error)) from error


def _key(tree: Any) -> str:
    if tree is None:
        return "None"
    if type(tree) is str:
        return _quote(tree)
    if type(tree) in (bool, int):
        return _whole(int(tree))
    if type(tree) is not list:
        raise Incomparable
    tag = tree[0]
    if tag == "u":
        return _key(tree[2])
    if tag == "N":
        return _key(tree[2]) if tree[1][1] not in "mM" else f"N({tree[1]!a}{_key(tree[2])})"
    if tag in _CONTAINERS:
        start, join = _CONTAINERS[tag]
        keys = []
        for item in tree[start:]:
            keys.append(_key(item))
        return join(keys, tree)
    if tag in _SCALARS:
        return _SCALARS[tag](*tree[1:])
    raise Incomparable


def _quote(text: str) -> str:
    return ascii(text)


@cache
def _modulus() -> int:
    # Fermat's test is enough for a number that nobody chose: a failure would only make some
    # fraction incomparable.
    while True:
        candidate = secrets.randbits(256) | 2**255 | 1
        if pow(2, candidate - 1, candidate) == 1:
            return candidate


def _whole(number: int) -> str:
    return str(number) if -_SMALL <= number <= _SMALL else f"n{number % _modulus():x}"


def _ratio(numerator: int, denominator: int) -> str:
    if numerator % denominator == 0:
        return _whole(numerator // denominator)
    return f"n{numerator * pow(denominator, -1, _modulus()) % _modulus():x}"


def _float(text: str) -> str:
    number = float.fromhex(text)
    return _ratio(*number.as_integer_ratio()) if math.isfinite(number) else str(number)


def _complex(real: str, imaginary: str) -> str:
    across = _float(imaginary)
    return _float(real) if across == "0" else f"c({_float(real)},{across})"


def _decimal(text: str) -> str:
    if len(text) > MAX_DECIMAL:
        raise Incomparable
    number = Decimal(text)
    if not number.is_finite():
        return "nan" if number.is_nan() else str(float(number))
    if abs(number) <= _SMALL and number == number.to_integral_value():
        return _whole(int(number))
    sign, digits, exponent = number.as_tuple()
    whole = int("".join(map(str, digits))) * (-1) ** sign
    return f"n{whole * pow(10, int(exponent), _modulus()) % _modulus():x}"


def _integer(tree: Any) -> int:
    return tree if type(tree) is int else int(tree[1], 16)


def _range(start: Any, stop: Any, step: Any) -> str:
    # Python compares ranges as the sequences they stand for.
    numbers = range(_integer(start), _integer(stop), _integer(step))
    if not numbers:
        return "r()"
    if numbers[0] == numbers[-1]:
        return f"r({numbers[0]:x})"
    return f"r({numbers[0]:x},{numbers[-1]:x},{numbers.step:x})"


def _moment(text: str) -> str:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        return f"dt({moment.isoformat()})"
    return f"dtz({_span(moment - _EPOCH)})"


def _time(text: str) -> str:
    moment = time.fromisoformat(text)
    offset = moment.utcoffset()
    if offset is None:
        return f"time({moment.isoformat()})"
    spent = timedelta(
        hours=moment.hour,
        minutes=moment.minute,
        seconds=moment.second,
        microseconds=moment.microsecond,
    )
    return f"timez({_span(spent - offset)})"


def _span(span: timedelta) -> str:
    return f"{span.days},{span.seconds},{span.microseconds}"


def _bytes(digits: str) -> str:
    return f"b({bytes.fromhex(digits).hex()})"


_SCALARS: dict[str, Callable[..., str]] = {
    "i": lambda text: _whole(int(text, 16)),
    "f": _float,
    "c": _complex,
    "D": _decimal,
    "F": lambda above, below: _ratio(_integer(above), _integer(below)),
    "su": lambda digits: ascii(bytes.fromhex(digits).decode("utf-8", "surrogatepass")),
    "b": _bytes,
    "ba": _bytes,
    "k": lambda name: f"k({name!a})",
    "r": _range,
    "R": lambda up: f"R({int(up)})",
    "date": lambda text: f"date({date.fromisoformat(text).isoformat()})",
    "time": _time,
    "dt": _moment,
    "td": lambda days, seconds, micros: f"td({_span(timedelta(days, seconds, micros))})",
}


def _in_order(name: str) -> Callable[[list[str], Any], str]:
    return lambda keys, _tree: f"{name}({','.join(keys)})"


def _set(keys: list[str], _tree: Any) -> str:
    return f"s({','.join(sorted(set(keys)))})"


def _dict(keys: list[str], _tree: Any) -> str:
    pairs = zip(keys[::2], keys[1::2], strict=True)
    return f"d({','.join(sorted(f'{key}:{value}' for key, value in pairs))})"


def _iterator(keys: list[str], tree: Any) -> str:
    is_set_like = tree[1].endswith(("dict_keys", "dict_items"))
    return _set(keys, tree) if is_set_like else f"it({','.join(keys)})"


def _array(keys: list[str], tree: Any) -> str:
    shape = ",".join(str(int(size)) for size in tree[2])
    return f"A({shape};{','.join(keys)})"


_CONTAINERS: dict[str, tuple[int, Callable[[list[str], Any], str]]] = {
    # Where the items start, and how their keys are joined.
    "l": (1, _in_order("l")),
    "t": (1, _in_order("t")),
    "q": (2, _in_order("q")),
    "sl": (1, _in_order("sl")),
    "s": (1, _set),
    "fs": (1, _set),
    "d": (1, _dict),
    "it": (2, _iterator),
    "A": (3, _array),
}
