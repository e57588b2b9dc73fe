"""Values of literal Python expressions, computed without running code.

Wider than ``ast.literal_eval``: tests write ``10**6``, ``-1 * [0]``, ``2.0 / 3.0``,
``set()`` or ``float('inf')`` where a literal is meant. Narrower than ``eval``: no names
but a few constructors, no attributes, and no result that would be costly to hold.
"""

import ast
import operator
from collections.abc import Callable
from typing import Any

from pipeline.parsing import parse_module

MAX_BITS = 1_000_000
MAX_ITEMS = 1_000_000

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_CONSTRUCTORS: dict[str, Callable[..., Any]] = {
    kind.__name__: kind
    for kind in (set, frozenset, list, tuple, dict, float, complex, bytes, range)
}


class NotLiteral(ValueError):
    """The expression is not a literal one, or its value would be too large."""


def parse_literal(source: str) -> object:
    """Return the value of a literal expression's source text.

    Raises:
        NotLiteral: the text is no expression, or no literal one.
    """
    return literal_value(parse_expression(source))


def parse_arguments(source: str) -> ast.Call:
    """Return a call with an argument list's arguments: ``"[1, 2], key=3"``.

    Raises:
        NotLiteral: the text is no list of arguments, or one with ``*`` or ``**``.
    """
    call = parse_expression(f"_({source}\n)")
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise NotLiteral("not a list of arguments")
    if any(isinstance(a, ast.Starred) for a in call.args) or any(not k.arg for k in call.keywords):
        raise NotLiteral("arguments are written out, without * and **")
    return call


def parse_expression(source: str) -> ast.expr:
    """Return the syntax tree of one expression.

    Raises:
        NotLiteral: the text is no expression.
    """
    try:
        body = parse_module(source.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotLiteral(str(error)) from error
    match body:
        case [ast.Expr(value=expression)]:
            return expression
    raise NotLiteral("not one expression")


def literal_value(node: ast.expr, shadowed: frozenset[str] = frozenset()) -> object:
    """Return the value of a literal expression.

    Args:
        node: the expression.
        shadowed: constructor names that mean something else where the expression stands.

    Raises:
        NotLiteral: the expression uses a name, a call or an attribute, fails, or is too large.
    """
    try:
        return _value(node, shadowed)
    except NotLiteral:
        raise
    except (ArithmeticError, TypeError, ValueError, RecursionError) as error:
        raise NotLiteral(f"{type(error).__name__}: {error}") from error


def _value(node: ast.expr, shadowed: frozenset[str]) -> Any:
    def value(child: ast.expr) -> Any:
        return _value(child, shadowed)

    match node:
        case ast.Constant():
            return node.value
        case ast.List():
            return [value(item) for item in node.elts]
        case ast.Tuple():
            return tuple(value(item) for item in node.elts)
        case ast.Set():
            return {value(item) for item in node.elts}
        case ast.Dict(keys=keys, values=values) if None not in keys:
            return {value(k): value(v) for k, v in zip(keys, values, strict=True) if k}
        case ast.UnaryOp() if type(node.op) in _UNARY:
            return _UNARY[type(node.op)](value(node.operand))
        case ast.BinOp() if type(node.op) in _BINARY:
            left, right = value(node.left), value(node.right)
            _check_size(node.op, left, right)
            return _BINARY[type(node.op)](left, right)
        case ast.Call(func=ast.Name(id=name), keywords=[]):
            if name in _CONSTRUCTORS and name not in shadowed:
                return _construct(name, [value(argument) for argument in node.args])
    raise NotLiteral(f"{ast.unparse(node)!r} is not a literal")


def _construct(name: str, arguments: list[Any]) -> Any:
    sizes = [
        argument if isinstance(argument, int) else len(argument)
        for argument in arguments
        if isinstance(argument, (int, range))
    ]
    if name != "range" and any(size > MAX_ITEMS for size in sizes):
        raise NotLiteral("the value is too large")
    return _CONSTRUCTORS[name](*arguments)


def _check_size(operation: ast.operator, left: Any, right: Any) -> None:
    if isinstance(operation, ast.Pow) and isinstance(left, int) and isinstance(right, int):
        too_large = left.bit_length() * abs(right) > MAX_BITS
    elif isinstance(operation, ast.Mult):
        pairs = ((left, right), (right, left))
        too_large = any(
            isinstance(count, int) and hasattr(items, "__len__") and count * len(items) > MAX_ITEMS
            for count, items in pairs
        )
    else:
        too_large = False
    if too_large:
        raise NotLiteral("the value is too large")
