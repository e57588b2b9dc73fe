"""Where a module's source names something, and in which scope that name lives.

``ast`` gives the tree; which binding a name refers to follows from Python's scoping rules: a
function's own bindings, else those of the functions around it, class bodies skipped, else the
module's. The built-in ``symtable`` knows the rules too, but not which node is which of its symbols.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass(eq=False, slots=True)
class Scope:
    """A module, class, function or comprehension, and the names that are bound in it."""

    is_class: bool = False
    is_comprehension: bool = False
    bound: set[str] = field(default_factory=set)
    global_names: set[str] = field(default_factory=set)
    nonlocal_names: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Site:
    """One occurrence of a name: an attribute of a node of the tree."""

    node: ast.AST
    attribute: str
    """Which attribute holds the name, or the list of names."""
    name: str
    scopes: tuple[Scope, ...]
    """The scopes around it, the module first."""
    binds: bool

    def home(self) -> Scope:
        """Return the scope in which the name is bound; the module's where none is."""
        module, inner = self.scopes[0], self.scopes[-1]
        for scope in reversed(self.scopes):
            if scope.is_class and scope is not inner:
                continue
            if self.name in scope.global_names:
                return module
            if self.name in scope.bound and self.name not in scope.nonlocal_names:
                return scope
        return module


def find_sites(tree: ast.Module) -> list[Site]:
    """Return every occurrence of every name, keyword arguments and attributes left out.

    Raises:
        RecursionError: the tree is too deep.
    """
    sites = list(_walk(tree, (Scope(),)))
    for site in sites:
        if isinstance(site.node, ast.Global):
            site.scopes[-1].global_names.add(site.name)
        elif isinstance(site.node, ast.Nonlocal):
            site.scopes[-1].nonlocal_names.add(site.name)
        elif site.binds:
            _binding_scope(site).bound.add(site.name)
    return sites


def _binding_scope(site: Site) -> Scope:
    if isinstance(site.node, ast.NamedExpr):
        return next(scope for scope in reversed(site.scopes) if not scope.is_comprehension)
    return site.scopes[-1]


def _walk(node: ast.AST, scopes: tuple[Scope, ...]) -> Iterator[Site]:
    yield from _own_sites(node, scopes)
    if isinstance(node, _Function):
        inner = (*scopes, Scope())
        for argument in _arguments(node.args):
            yield Site(argument, "arg", argument.arg, inner, True)
        yield from _walk_all(_around(node), scopes)
        yield from _walk_all(node.body, inner)
    elif isinstance(node, ast.ClassDef):
        yield from _walk_all([node.decorator_list, node.bases, node.keywords], scopes)
        yield from _walk_all(node.body, (*scopes, Scope(is_class=True)))
    elif isinstance(node, _Comprehension):
        first = node.generators[0]
        inner = (*scopes, Scope(is_comprehension=True))
        yield from _walk(first.iter, scopes)
        yield from _walk_all([first.target, first.ifs, node.generators[1:]], inner)
        parts = ("key", "value") if isinstance(node, ast.DictComp) else ("elt",)
        yield from _walk_all([getattr(node, part) for part in parts], inner)
    elif isinstance(node, ast.NamedExpr):
        yield from _walk(node.value, scopes)
    else:
        yield from _walk_all(list(ast.iter_child_nodes(node)), scopes)


def _walk_all(nodes: Any, scopes: tuple[Scope, ...]) -> Iterator[Site]:
    for node in nodes if isinstance(nodes, list) else [nodes]:
        if isinstance(node, list):
            yield from _walk_all(node, scopes)
        elif node is not None:
            yield from _walk(node, scopes)


def _own_sites(node: ast.AST, scopes: tuple[Scope, ...]) -> Iterator[Site]:
    """Yield the names that a node itself holds."""
    match node:
        case ast.Name(id=name, ctx=context):
            yield Site(node, "id", name, scopes, not isinstance(context, ast.Load))
        case ast.NamedExpr(target=ast.Name(id=name)):
            yield Site(node, "target", name, scopes, True)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield Site(node, "name", name, scopes, True)
        case ast.ClassDef(name=name) | ast.ExceptHandler(name=str(name)):
            yield Site(node, "name", name, scopes, True)
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield Site(node, "name", name, scopes, True)
        case ast.MatchMapping(rest=str(name)):
            yield Site(node, "rest", name, scopes, True)
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            for name in names:
                yield Site(node, "names", name, scopes, False)
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            for alias in aliases:
                if alias.asname:
                    yield Site(alias, "asname", alias.asname, scopes, True)
                else:
                    yield Site(alias, "name", alias.name.partition(".")[0], scopes, True)


def _arguments(arguments: ast.arguments) -> list[ast.arg]:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [*every, *(part for part in (arguments.vararg, arguments.kwarg) if part)]


def _around(node: _Function) -> list[Any]:
    """Return what stands in a function's head but is evaluated outside it."""
    parts: list[Any] = [node.args.defaults, node.args.kw_defaults]
    parts += [argument.annotation for argument in _arguments(node.args)]
    if not isinstance(node, ast.Lambda):
        parts += [node.decorator_list, node.returns]
    return parts
