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

How a value is read without asking it, see ``writers``. Only the standard library, and of that only
what is loaded anyway: every import would cost every program.
"""

import re

# Bound here, so that a program that patches the builtins module does not change its own results.
from builtins import BaseException, dict, id, int, len, list, next, str, type  # noqa: UP029
from collections.abc import Iterable
from typing import Any, NoReturn

from sandbox.decoding import Undecodable, decode, loads
from sandbox.writers import (
    SMALL,
    WRITERS,
    Writer,
    find_writer,
    join,
    mro_of,
    name_of,
    quote,
    static_name,
)

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
MAX_MESSAGE = 4_000
"""Longest exception message, in characters."""

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
    text = Encoder(max_bytes, max_nodes, max_depth).text(value)
    if len(text) > max_bytes:
        raise Unencodable(f"more than {max_bytes} bytes")
    return text


def join_list(texts: Iterable[str]) -> str:
    """Return the text of the list whose items have these texts."""
    return join('["l"', list(texts))


def encode_exception(error: BaseException) -> str:
    """Return ``[class name, nearest builtin class, message]`` as JSON.

    The message is cut to 4,000 characters and its addresses are replaced. It is made by the
    exception's own ``__str__``, which may run for ever; one that fails leaves the message empty.
    """
    kind = type(error)
    nearest = next(base for base in mro_of(kind) if static_name(base)[0] == "builtins")
    try:
        message = str.__str__(str(error))[:MAX_MESSAGE]
    except BaseException:  # SystemExit too: the program's code must not decide what happens here
        message = ""
    return f"[{name_of(kind)},{name_of(nearest)},{quote(_ADDRESS.sub('0x...', message))}]"


class Encoder:
    """One value's bounds and its path from the root."""

    __slots__ = ("depth", "max_bytes", "max_depth", "max_nodes", "nodes", "path", "room")

    def __init__(self, max_bytes: int, max_nodes: int, max_depth: int) -> None:
        self.room = self.max_bytes = max_bytes
        self.nodes = self.max_nodes = max_nodes
        self.max_depth = max_depth
        self.depth = 0
        self.path: dict[int, int] = {}
        """Position of each container on the path, by its id."""

    def begin(self, max_bytes: int) -> None:
        """Be ready for another value."""
        self.room = self.max_bytes = max_bytes
        self.nodes = self.max_nodes
        self.depth = 0
        if self.path:
            self.path = {}

    def text(self, value: Any) -> str:
        kind = type(value)
        # The two most frequent types, without the detour.
        if kind is int and -SMALL <= value <= SMALL:
            return int.__repr__(value)
        if kind is str and value.isascii():
            self.spend(len(value))
            return quote(value)
        return (WRITERS.get(id(kind)) or find_writer(kind))(self, value, kind)

    def refuse(self, why: str) -> NoReturn:
        raise Unencodable(why)

    def spend(self, size: int) -> None:
        """Take ``size`` bytes, at most what the text will need, from the room there is."""
        self.room -= size
        if self.room < 0:
            self.refuse(f"more than {self.max_bytes} bytes")

    def check(self, count: int) -> None:
        """Make sure, before they are looked at, that ``count`` more items are allowed."""
        if count > self.nodes:
            self.refuse(f"more than {self.max_nodes} items")

    def wrapped(self, start: str, value: Any, kind: Any, writer: Writer) -> str:
        """Return the text of a value inside a list of its own."""
        self.depth += 1
        if self.depth > self.max_depth:
            self.refuse(f"nested deeper than {self.max_depth}")
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
            self.refuse(f"nested deeper than {self.max_depth}")
        self.path[id(container)] = len(self.path)
        text = self.text
        texts = [text(item) for item in items]
        del self.path[id(container)]
        self.depth -= 1
        return join(start, order(texts))
