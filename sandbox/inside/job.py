"""A job as the child reads it: plain values, marshalled by the trusted side.

``marshal`` is safe here because the bytes travel from the owner to the child only, between two
processes of one interpreter.
"""

from collections.abc import Callable
from functools import lru_cache
from marshal import dumps, loads
from mmap import mmap
from typing import NamedTuple

_SHORT = 2000


class Task(NamedTuple):
    """What one child is to do.

    ``calls`` holds (index, what) for each test still to run: of a program's task, the argument list
    (see ``arguments``), or None where a check drives the calls; of a checker's, the check's source.
    """

    program: str
    entry_point: str
    calls: tuple[tuple[int, str | bytes | None], ...]
    seed: int
    output_bytes: int
    encoding_bytes: int


Fields = tuple[str, str, tuple[tuple[int, str | bytes | None], ...], int, int, int]
"""A task's fields, as a child gets them."""


@lru_cache(maxsize=8192)
def arguments(source: str) -> str | bytes:
    """What a child evaluates to get the arguments: marshalled code of a short source, else source.

    Many programs get the same arguments, and compiling them is dearer than evaluating them. The
    code is a call of ``_`` and is never run on this side. A long source, or one with an error, is
    left to the child, where it can do no harm.
    """
    if len(source) > _SHORT:
        return call_of(source)
    try:
        return dumps(compile(call_of(source), "<arguments>", "eval"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return call_of(source)


def call_of(source: str) -> str:
    """The expression that hands an argument list to ``_``."""
    return f"_({source}\n)"


def dump(task: Task) -> bytes:
    """The bytes for ``load``."""
    return dumps(tuple(task))


load: Callable[[bytes | mmap], Fields] = loads
"""The fields of the task that ``dump`` wrote; what follows it is not looked at."""
