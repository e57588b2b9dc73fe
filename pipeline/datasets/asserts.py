"""Assert-style test suites, taken apart into single tests by parsing.

Theory of operation. An assertion that compares one call of the entry point on literal
arguments with a literal value is a *case*: its inputs run without the expected value, which
the judge compares outside. Whatever else calls the entry point is a *check*: source that is
run as it stands, in a process apart from the program. A check carries every statement that it
depends on (a backward slice by names, taken conservatively: a statement that is no definition
may change anything it names), so that each check can run alone. Two assertions that depend on
each other stay together in one check.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pipeline.datasets.literals import NotLiteral, literal_value
from pipeline.parsing import parse_module


@dataclass(frozen=True, slots=True)
class Case:
    """One call on literal arguments, and what it should return."""

    args: str
    """Python source of the argument list."""
    expected: object
    comparator: str
    """``python``, ``exact`` (from ``is``) or ``approx``."""
    atol: float | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """Source that calls the entry point by its name and asserts about the results."""

    source: str


Split: TypeAlias = Case | Check

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


def split_function(
    function: ast.FunctionDef, context: Sequence[ast.stmt], entry_point: str
) -> list[Split]:
    """Split a ``check(candidate)`` function into cases and checks, in their order.

    Args:
        function: its only parameter stands for the entry point.
        context: trusted statements around it (imports, helpers), which checks may need.
        entry_point: the name under which checks call the program.
    """
    candidate = function.args.args[0].arg
    rename = _Rename(candidate, entry_point)
    if any(map(_needs_function, function.body)):
        helpers = [s for s in context if entry_point not in _stored(s)]
        call = ast.parse(f"{function.name}({entry_point})").body
        return [Check(_source([*helpers, function, *call]))]
    body = [rename.visit(statement) for statement in function.body]
    return split_statements(body, context, entry_point)


def split_statements(
    body: Sequence[ast.stmt], context: Sequence[ast.stmt], entry_point: str
) -> list[Split]:
    """Split statements that call the entry point by its own name; see ``split_function``."""
    statements = [s for s in (*context, *body) if entry_point not in _stored(s)]
    shadowed = frozenset().union(*map(_stored, statements))
    found: dict[int, Split] = {}
    groups: list[set[int]] = []
    tests = {i for i, s in enumerate(statements) if _is_test(s, entry_point)}
    for index in sorted(tests):
        case = _case(statements[index], entry_point, shadowed)
        if case is None:
            groups = _join(groups, _slice(statements, index, entry_point), tests)
        else:
            found[index] = case
    for group in groups:
        members = [statements[index] for index in sorted(group)]
        if any(entry_point in _loaded(member) for member in members):
            found[min(group & tests)] = Check(_source(members))
    return [found[index] for index in sorted(found)]


def split_text(source: str, entry_point: str) -> list[Split]:
    """Split one assertion text, which may name the call's result before it asserts.

    Args:
        source: Python source such as ``out = f(1)`` and ``assert out == 2`` on two lines.
        entry_point: the function's name.

    Raises:
        SyntaxError: the text is no Python.
    """
    body = parse_module(source).body
    named: dict[str, ast.expr] = {}
    plain = True
    for statement in body:
        match statement:
            case ast.Assert() | ast.Import() | ast.ImportFrom():
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=call) if (
                name not in named and _calls(call, entry_point)
            ):
                named[name] = call
            case _:
                plain = False
    conditions = [_Inline(named).visit(s.test) for s in body if isinstance(s, ast.Assert)]
    cases = [split_assert(condition, entry_point) for condition in conditions]
    found: list[Split] = [case for case in cases if case is not None]
    if plain and found and len(found) == len(cases):
        return found
    return split_statements(parse_module(source).body, (), entry_point)


def split_assert(
    condition: ast.expr, entry_point: str, shadowed: frozenset[str] = frozenset()
) -> Case | None:
    """Turn an assertion's condition into a case, or return None where it is not a plain one.

    A bare ``assert f(x)`` expects True and ``assert not f(x)`` False: the values that the
    problem asks for, where the original accepts any that is true or false.
    """
    try:
        return _split(condition, entry_point, shadowed)
    except NotLiteral:
        return None


def _split(condition: ast.expr, name: str, shadowed: frozenset[str]) -> Case | None:
    match condition:
        case ast.Call() if _calls(condition, name):
            return Case(_arguments(condition, shadowed), True, "python")
        case ast.UnaryOp(op=ast.Not(), operand=operand) if _calls(operand, name):
            return Case(_arguments(operand, shadowed), False, "python")
        case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE()], comparators=[bound]):
            return _split_distance(left, bound, name, shadowed)
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is() as op], comparators=[right]):
            call, other = (left, right) if _calls(left, name) else (right, left)
            if _calls(call, name):
                comparator = "exact" if isinstance(op, ast.Is) else "python"
                expected = literal_value(other, shadowed)
                return Case(_arguments(call, shadowed), expected, comparator)
    return None


def _split_distance(
    distance: ast.expr, bound: ast.expr, name: str, shadowed: frozenset[str]
) -> Case | None:
    """``abs(f(x) - y) < eps`` and the like."""
    match distance:
        case ast.Call(
            func=ast.Name(id="abs") | ast.Attribute(value=ast.Name(id="math"), attr="fabs"),
            args=[ast.BinOp(left=left, op=ast.Sub(), right=right)],
        ):
            call, other = (left, right) if _calls(left, name) else (right, left)
            expected, atol = literal_value(other, shadowed), literal_value(bound, shadowed)
            if _calls(call, name) and _is_real(expected) and _is_real(atol):
                arguments = _arguments(call, shadowed)
                return Case(arguments, float(expected), "approx", float(atol))  # type: ignore[arg-type] # _is_real
    return None


def _is_real(value: object) -> bool:
    return isinstance(value, (int, float))


def _calls(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _arguments(call: ast.expr, shadowed: frozenset[str]) -> str:
    assert isinstance(call, ast.Call)
    named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
        literal_value(argument, shadowed)
    if len(named) < len(call.keywords):
        raise NotLiteral("a call with **")
    words = [f"{name}={ast.unparse(value)}" for name, value in named.items()]
    return ", ".join([*map(ast.unparse, call.args), *words])


def _case(statement: ast.stmt, name: str, shadowed: frozenset[str]) -> Case | None:
    if not isinstance(statement, ast.Assert):
        return None
    return split_assert(statement.test, name, shadowed)


def _is_test(statement: ast.stmt, name: str) -> bool:
    """Whether a statement calls the entry point, or asserts something that depends on names."""
    if isinstance(statement, _DEFINITIONS):
        return False
    asserts = (node for node in ast.walk(statement) if isinstance(node, ast.Assert))
    return name in _loaded(statement) or any(_loaded(node.test) for node in asserts)


def _slice(statements: Sequence[ast.stmt], index: int, name: str) -> set[int]:
    """Return the indices of a statement and of all before it that it may depend on."""
    chosen, needs = {index}, _loaded(statements[index]) - {name}
    changed = {i: _changed(statements[i]) - {name} for i in range(index)}
    while more := {i for i in changed.keys() - chosen if changed[i] & needs}:
        chosen |= more
        needs = needs.union(*(_loaded(statements[i]) for i in more)) - {name}
    return chosen


def _join(groups: list[set[int]], group: set[int], tests: set[int]) -> list[set[int]]:
    """Add a group, made one with those that share a test with it."""
    apart = [other for other in groups if not other & group & tests]
    joined = [other for other in groups if other & group & tests]
    return [*apart, group.union(*joined)]


def _loaded(node: ast.AST) -> set[str]:
    return {name.id for name in _names(node) if isinstance(name.ctx, ast.Load)}


def _stored(statement: ast.stmt) -> set[str]:
    """Return the names that a statement binds."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return {statement.name}
        case ast.Import() | ast.ImportFrom():
            return {alias.asname or alias.name.split(".")[0] for alias in statement.names}
    return {name.id for name in _names(statement) if not isinstance(name.ctx, ast.Load)}


def _changed(statement: ast.stmt) -> set[str]:
    """Return the names that a statement binds, or whose objects it may change."""
    if isinstance(statement, (*_DEFINITIONS, ast.Assert)):
        return _stored(statement)
    called = {id(node.func) for node in ast.walk(statement) if isinstance(node, ast.Call)}
    return {name.id for name in _names(statement) if id(name) not in called}


def _names(node: ast.AST) -> list[ast.Name]:
    return [child for child in ast.walk(node) if isinstance(child, ast.Name)]


def _needs_function(statement: ast.stmt) -> bool:
    """Whether a statement means something only inside a function."""
    if isinstance(statement, (ast.Return, ast.Global, ast.Nonlocal)):
        return True
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return any(isinstance(node, ast.Nonlocal) for node in ast.walk(statement))
    children = ast.iter_child_nodes(statement)
    return any(_needs_function(child) for child in children if isinstance(child, ast.stmt))


def _source(statements: Sequence[ast.stmt]) -> str:
    return ast.unparse(ast.Module(body=list(statements), type_ignores=[])) + "\n"


class _Rename(ast.NodeTransformer):
    """Rename every use of one variable."""

    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new

    def visit_Name(self, node: ast.Name) -> ast.Name:
        new = self.new if node.id == self.old else node.id
        return ast.copy_location(ast.Name(new, node.ctx), node)


class _Inline(ast.NodeTransformer):
    """Put expressions in the place of the names that were given to them."""

    def __init__(self, named: dict[str, ast.expr]) -> None:
        self.named = named

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.named.get(node.id, node)
