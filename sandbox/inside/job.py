"""A job as the child reads it: plain values, marshalled by the trusted side.

``marshal`` is safe here because the bytes travel from the owner to the child only, between two
processes of one interpreter.
"""

import ast
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
    """What a child makes the arguments of.

    Many programs get the same arguments, and compiling them is dearer than evaluating them, which
    is dearer than reading them. So it is: for a short list of literals, what they are, marshalled;
    for another short source, its code, a call of ``_``, marshalled, which is never run on this
    side; for a long one, or one with an error, the source, which does no harm in the child.
    """
    call = call_of(source)
    if len(source) > _SHORT:
        return call
    try:
        tree = ast.parse(call, mode="eval")
        code = compile(tree, "<arguments>", "eval")
        return dumps(eval(code, {"_": _both}) if _is_plain(tree.body) else code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return call


def _both(*args: object, **kwargs: object) -> tuple[object, object]:
    return args, kwargs


def _is_plain(call: ast.expr) -> bool:
    """Whether it is the one call, of literals that are the same when marshalled."""
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "_"):
        return False
    named = all(keyword.arg is not None for keyword in call.keywords)
    return named and all(map(_is_literal, [*call.args, *(item.value for item in call.keywords)]))


def _is_literal(node: ast.expr | None) -> bool:
    """Whether it is built of numbers, texts, lists, tuples and dictionaries.

    Sets are not: one that is read again may have another order than one that is built.
    """
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
        return isinstance(node, ast.Constant) and type(node.value) in (int, float)
    if isinstance(node, ast.List | ast.Tuple):
        return all(map(_is_literal, node.elts))
    if isinstance(node, ast.Dict):
        return all(map(_is_literal, [*node.keys, *node.values]))
    return isinstance(node, ast.Constant) and node.value is not ...


def call_of(source: str) -> str:
    """The expression that hands an argument list to ``_``."""
    return f"_({source}\n)"


def dump(task: Task) -> bytes:
    """The bytes for ``load``."""
    return dumps(tuple(task))


load: Callable[[bytes | mmap], Fields] = loads
"""The fields of the task that ``dump`` wrote; what follows it is not looked at."""
