"""EvalPlus's test harness, as the hub's repositories carry it: a loop over lists of inputs.

    inputs, results = [...], [...]
    for i, (inp, exp) in enumerate(zip(inputs, results)):
        assertion(candidate(*inp), exp, atol)

Left whole it would be one assert-test for a thousand inputs; read as what it says, it is one
test for each. Where results would be large, the loop calls a copy of the reference solution
instead; then the tests come out unlabelled, as those of ``pipeline.datasets.evalplus``.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.datasets.asserts import Case
from pipeline.datasets.build import blank_test, case_test
from pipeline.datasets.literals import NotLiteral, literal_value
from pipeline.records import Test

FLOAT_ATOL = 1e-6
"""What the harness takes for floats where the problem gives no tolerance."""
SOURCE = "harness"


@dataclass(frozen=True, slots=True)
class _Loop:
    inputs: str
    results: str | None
    """Name of the list of expected values; None where a reference is called."""
    called: str
    atol: float


def read_harness(
    body: Sequence[ast.stmt], context: Sequence[ast.stmt], candidate: str
) -> list[Test] | None:
    """Return the tests of a harness, or None where the statements are no plain one.

    Args:
        body: the statements that hold the lists and the loop.
        context: those that define ``assertion``; may be the same.
        candidate: the name under which the loop calls the program.
    """
    lists: dict[str, ast.expr] = {}
    loops = []
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in lists:
                lists[name] = value
            case ast.For():
                loops.append(_loop(statement))
            case ast.FunctionDef() | ast.Import() | ast.ImportFrom() | ast.Expr(ast.Constant()):
                pass
            case _:
                return None
    match loops:
        case [_Loop() as loop] if loop.called == candidate and any(map(_is_theirs, context)):
            try:
                return _tests(loop, lists)
            except (NotLiteral, KeyError):
                return None
    return None


def _is_theirs(statement: ast.stmt) -> bool:
    """Whether a statement defines the ``assertion`` whose rule we know: equal, or close floats."""
    match statement:
        case ast.FunctionDef(
            name="assertion",
            args=ast.arguments(args=[ast.arg(arg=out), ast.arg(arg=exp), ast.arg()]),
            body=[
                ast.Assign(
                    value=ast.Compare(
                        left=ast.Name(id=left), ops=[ast.Eq()], comparators=[ast.Name(id=right)]
                    )
                ),
                *_,
            ],
        ):
            return (left, right) == (out, exp)
    return False


def _loop(statement: ast.For) -> _Loop | None:
    match statement:
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(), target]),
            iter=ast.Call(func=ast.Name(id="enumerate"), args=[source]),
            body=[
                ast.Expr(
                    value=ast.Call(
                        func=ast.Name(id="assertion"),
                        args=[
                            ast.Call(
                                func=ast.Name(id=called),
                                args=[ast.Starred(value=ast.Name(id=given))],
                                keywords=[],
                            ),
                            wanted,
                            ast.Constant(value=int() | float() as atol),
                        ],
                    )
                )
            ],
            orelse=[],
        ):
            pass
        case _:
            return None
    match target, source, wanted:
        case (
            ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)]),
            ast.Call(func=ast.Name(id="zip"), args=[ast.Name(id=inputs), ast.Name(id=results)]),
            ast.Name(id=third),
        ) if (first, second) == (given, third):
            return _Loop(inputs, results, called, atol)
        case (
            ast.Name(id=first),
            ast.Name(id=inputs),
            ast.Call(func=ast.Name(), args=[ast.Starred(value=ast.Name(id=second))]),
        ) if first == second == given:
            return _Loop(inputs, None, called, atol)
    return None


def _tests(loop: _Loop, lists: dict[str, ast.expr]) -> list[Test]:
    inputs = [_arguments(element) for element in _elements(lists[loop.inputs])]
    if loop.results is None:
        return [
            blank_test(number, args, loop.atol or None, SOURCE)
            for number, args in enumerate(inputs)
        ]
    results = [literal_value(_finite(element)) for element in _elements(lists[loop.results])]
    pairs = zip(inputs, results, strict=False)  # the harness's own zip does not mind either
    return [
        case_test(number, _case(args, expected, loop.atol), SOURCE)
        for number, (args, expected) in enumerate(pairs)
    ]


def _case(args: str, expected: object, atol: float) -> Case:
    if not atol and _is_floats(expected):
        atol = FLOAT_ATOL
    return Case(args, expected, "approx", float(atol)) if atol else Case(args, expected, "python")


def _is_floats(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(isinstance(item, float) for item in value)
    return isinstance(value, float)


def _elements(node: ast.expr) -> list[ast.expr]:
    if not isinstance(node, (ast.List, ast.Tuple)):
        raise NotLiteral("not a list")
    return node.elts


def _arguments(node: ast.expr) -> str:
    elements = [_finite(element) for element in _elements(node)]
    for element in elements:
        literal_value(element)
    return ", ".join(map(ast.unparse, elements))


class _Infinity(ast.NodeTransformer):
    """``inf``, which the harness imports from math, as the call that makes it."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.parse("float('inf')", mode="eval").body if node.id == "inf" else node


def _finite(node: ast.expr) -> ast.expr:
    changed = _Infinity().visit(node)
    assert isinstance(changed, ast.expr)
    return changed
