"""Encoded values as Python source, and what counts as the same output."""

import hashlib
from typing import Any

from sandbox.encoding import Undecodable, decode, loads
from sandbox.types import Kind, Outcome

DIGITS = 9
"""Significant digits in which two floats of the same output agree."""


class NoSource(ValueError):
    """The value cannot be written as an expression of builtins."""


def value_source(encoding: str) -> str:
    """Return an expression that makes an encoded value.

    An instance of a subclass becomes a value of its base class.

    Raises:
        NoSource: it holds an opaque object, a cycle, or a type that is no builtin.
    """
    try:
        return _source(loads(encoding))
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise NoSource(str(error)) from error


def is_true(encoding: str) -> bool:
    """Tell whether Python would take an encoded value for true."""
    try:
        return bool(decode(encoding))
    except (Undecodable, ValueError, RecursionError):
        return '["o",' in encoding  # an object is true unless it says otherwise


def output_digest(outcome: Outcome) -> str:
    """Return a short text that is the same for outcomes that count as the same output.

    Values count as the same when their types and values are, floats in nine digits; exceptions by
    their class; everything else by its kind.
    """
    if outcome.kind is Kind.VALUE and outcome.encoding is not None:
        text = (
            repr(_rounded(loads(outcome.encoding)))
            if '["f",' in outcome.encoding
            else outcome.encoding
        )
    elif outcome.kind is Kind.ERROR and outcome.encoding is not None:
        text = f"error {loads(outcome.encoding)[0]}"
    else:
        text = str(outcome.kind)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _rounded(tree: Any) -> Any:
    match tree:
        case ["f", str(digits)]:
            return ["f", f"{float.fromhex(digits):.{DIGITS}g}"]
        case list():
            return [_rounded(item) for item in tree]
    return tree


def _source(tree: Any) -> str:
    if tree is None or type(tree) in (bool, int):
        return repr(tree)
    if type(tree) is str:
        return ascii(tree)
    tag, rest = tree[0], tree[1:]
    if tag in _AROUND:
        before, after = _AROUND[tag]
        return before + "".join(f"{_source(item)}, " for item in rest) + after
    match tree:
        case ["d", *_]:
            pairs = zip(rest[::2], rest[1::2], strict=True)
            return "{" + "".join(f"{_source(k)}: {_source(v)}, " for k, v in pairs) + "}"
        case ["f", str(digits)]:
            return f"float.fromhex({digits!a})"
        case ["c", str(real), str(imaginary)]:
            return f"complex(float.fromhex({real!a}), float.fromhex({imaginary!a}))"
        case ["i", str(digits)]:
            return f"int({digits!a}, 16)"
        case ["b", str(digits)]:
            return f"bytes.fromhex({digits!a})"
        case ["su", str(digits)]:
            return f"bytes.fromhex({digits!a}).decode('utf-8', 'surrogatepass')"
        case ["r", start, stop, step]:
            return f"range({_source(start)}, {_source(stop)}, {_source(step)})"
        case ["u", _, value]:
            return _source(value)
        case ["it", _, *items]:
            return "iter([" + ", ".join(map(_source, items)) + "])"
    raise NoSource(f"a value of kind {tag!r}")


_AROUND = {
    "l": ("[", "]"),
    "t": ("(", ")"),
    "s": ("set([", "])"),
    "fs": ("frozenset([", "])"),
}
