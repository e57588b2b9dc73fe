"""Which names a module binds and which it uses, told from its syntax tree."""

import ast
import builtins
from collections.abc import Iterator

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def defined(tree: ast.Module | None) -> set[str]:
    """Return the names that a module's top level binds by definitions, assignments, imports."""
    return {name for node in _top_level(tree.body if tree else []) for name in _bound_by(node)}


def has_function(tree: ast.Module | None, name: str) -> bool:
    """Tell whether a module defines ``name`` itself: by ``def``, ``class`` or assignment."""
    nodes = _top_level(tree.body if tree else [])
    imports = (ast.Import, ast.ImportFrom)
    return any(name in _bound_by(node) for node in nodes if not isinstance(node, imports))


def has_method(tree: ast.Module | None, owner: str, name: str) -> bool:
    """Tell whether a module's class ``owner`` has a method ``name``."""
    classes = (node for node in (tree.body if tree else []) if isinstance(node, ast.ClassDef))
    return any(
        isinstance(member, _Function) and member.name == name
        for node in classes
        if node.name == owner
        for member in node.body
    )


def missing(tree: ast.Module) -> set[str]:
    """Return the names that a module uses and binds nowhere, builtins left out."""
    used: set[str] = set()
    bound: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
        else:
            bound |= _bound_by(node)
    return used - bound - set(dir(builtins))


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements, and those inside ``if``, ``try`` and ``with``, which bind as well."""
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            for part in ("body", "orelse", "finalbody"):
                yield from _top_level(getattr(node, part, []))
            for handler in getattr(node, "handlers", []):
                yield from _top_level(handler.body)


def _bound_by(node: ast.AST) -> set[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return {node.name}
        case ast.Import() | ast.ImportFrom():
            return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        case ast.Assign(targets=targets):
            return {name for target in targets for name in _stored(target)}
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.AugAssign(target=ast.Name(id=name)):
            return {name}
    return set()


def _stored(target: ast.expr) -> Iterator[str]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
