"""Renaming the function of a problem to ``func``, by what Python means and not by how it is spelt.

IdentityChain (arXiv 2310.14053) masks the meaningful name from step 1 on. Here a name is masked
where it refers to the module's function: its definition, its recursive calls, other references.
Attributes, strings, keyword arguments, parts of words, and variables or parameters that only
share the spelling stay as they are.
"""

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MASK = "func"
_UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


def mask_program(source: str, name: str, mask: str = MASK) -> str:
    """Return a program in which the function is called ``mask``.

    A program that cannot be parsed is masked token by token as far as it can be read.

    Args:
        source: Python source of a module.
        name: what its function is called.
        mask: what it shall be called.
    """
    if name == mask or name not in source:
        return source
    try:
        tree = ast.parse(source)
    except _UNPARSABLE:
        return _mask_tokens(source, name, mask)
    masked = _replace(source, _spots(tree, source, name), name, mask)
    return masked if _is_masked(masked, name) else _rewrite(tree, name, mask)


def mask_signature(signature: str, name: str, mask: str = MASK) -> str:
    """Return a signature (``def`` to the colon) whose function is called ``mask``."""
    head, keyword, tail = signature.partition("def ")
    rest = tail.lstrip()
    return head + keyword + mask + rest[len(name) :] if rest.startswith(name) else signature


def mask_check(source: str, name: str, mask: str = MASK) -> str:
    """Return an assert-test that calls ``mask`` where it called the function."""
    return mask_program(source, name, mask)


def render_header(preamble: str, signature: str, docstring: str) -> str:
    """Return preamble, signature and docstring as source that ends where the body would begin.

    ``ast.get_docstring`` gives the text back, whatever quotes, backslashes or braces it holds, but
    for what it cleans itself: tabs, and white space at the edges.

    Args:
        preamble: imports and helpers; may be empty.
        signature: from ``def`` to the colon, any white space after it.
        docstring: plain text, not indented.
    """
    before = preamble.rstrip("\n")
    head = f"{before}\n\n\n" if before else ""
    lines = [line.rstrip() for line in docstring.expandtabs().strip().splitlines()] or [""]
    text = "\n".join([lines[0], *(f"    {line}" if line else "" for line in lines[1:])])
    return f'{head}{signature.rstrip()}\n    """{_escape(text)}"""\n'


def _escape(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if escaped.endswith('"') and not escaped.endswith('\\"'):
        escaped = escaped[:-1] + '\\"'
    return "".join(c if c == "\n" or c.isprintable() else _code(c) for c in escaped)


def _code(character: str) -> str:
    return f"\\U{ord(character):08x}"


@dataclass(frozen=True)
class _Spot:
    """A place in the source, and what has to stand there."""

    line: int
    column: int  # in UTF-8 bytes, as ast counts
    imported: bool = False


def _spots(tree: ast.Module, source: str, name: str) -> list[_Spot]:
    lines = source.splitlines(keepends=True)
    spots = []
    for node in _references(tree, name):
        if isinstance(node, ast.Name):
            spots.append(_Spot(node.lineno, node.col_offset))
        elif isinstance(node, ast.alias) and node.asname is None:
            spots.append(_Spot(node.lineno, node.col_offset, imported=True))
        else:
            spots += _word_after(node, lines, name)
    return spots


def _word_after(node: ast.stmt | ast.alias, lines: list[str], name: str) -> Iterator[_Spot]:
    """Find the bare name in a definition's head, a ``global`` statement or after ``as``."""
    row = node.lineno - 1
    text = lines[row].encode()[node.col_offset :].decode()
    for token in tokenize.generate_tokens(
        io.StringIO("\n".join([text, *lines[row + 1 :]])).readline
    ):
        if token.type == tokenize.NAME and token.string == name:
            column = len(token.line[: token.start[1]].encode())
            shift = node.col_offset if token.start[0] == 1 else 0
            yield _Spot(node.lineno + token.start[0] - 1, column + shift)
            return


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_Node = ast.Name | ast.alias | ast.stmt


def _references(tree: ast.AST, name: str, own: bool = True) -> Iterator[_Node]:
    """Yield the nodes below one through which the module's own ``name`` is bound or used.

    Args:
        tree: where to look.
        name: the name.
        own: whether the name means the module's where the node stands.
    """
    for node in ast.iter_child_nodes(tree):
        if _is_named(node, name) and own:
            yield node  # type: ignore[misc]  # _is_named has told which it is
        if isinstance(node, ast.Global) and name in node.names:
            yield node
        yield from _inside(node, name, own)


def _inside(node: ast.AST, name: str, own: bool) -> Iterator[_Node]:
    if isinstance(node, ast.ClassDef):
        # A class body's own names are attributes; its methods do not see them.
        outside = [*node.decorator_list, *node.bases, *node.keywords]
        yield from _references(_block(outside), name, own)
        for member in node.body:
            if not _is_named(member, name):
                yield from _references(_block([member]), name, own)
            else:
                yield from _inside(member, name, own)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        inner = _meaning_inside(node, name, own)
        body = node.body if isinstance(node.body, list) else [node.body]
        yield from _references(_block(_outside(node)), name, own)
        yield from _references(_block(body), name, inner)
    elif isinstance(node, _COMPREHENSIONS):
        targets = [part.target for part in node.generators]
        shadowed = any(_binds(target, name) for target in targets)
        yield from _references(node, name, own and not shadowed)
    else:
        yield from _references(node, name, own)


def _block(nodes: list[Any]) -> ast.AST:
    """Wrap nodes so that they are children of one."""
    return ast.Module(body=nodes, type_ignores=[])


def _is_named(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Name):
        return node.id == name
    if isinstance(node, ast.alias):
        return (node.asname or node.name) == name
    return (
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and node.name == name
    )


def _outside(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[Any]:
    """Return what stands in a function's head but is evaluated around it."""
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [part for part in (arguments.vararg, arguments.kwarg) if part]
    parts: list[Any] = [*arguments.defaults, *(d for d in arguments.kw_defaults if d)]
    parts += [part.annotation for part in every if part.annotation]
    if not isinstance(node, ast.Lambda):
        parts += node.decorator_list
        parts += [node.returns] if node.returns else []
    return parts


def _meaning_inside(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, name: str, own: bool
) -> bool:
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [part for part in (arguments.vararg, arguments.kwarg) if part]
    if any(part.arg == name for part in every):
        return False
    if isinstance(node, ast.Lambda):
        return own
    if any(isinstance(part, ast.Global) and name in part.names for part in _own_nodes(node)):
        return True
    return own and not any(_binds(part, name) for part in _own_nodes(node))


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function's own scope, nested scopes left out but for their names."""
    for child in node.body:  # type: ignore[attr-defined]
        yield from _own_subtree(child)


def _own_subtree(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not isinstance(node, (*_SCOPES, *_COMPREHENSIONS)):
        for child in ast.iter_child_nodes(node):
            yield from _own_subtree(child)


def _binds(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Name):
        return node.id == name and not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Tuple | ast.List | ast.Starred):
        return any(_binds(child, name) for child in ast.iter_child_nodes(node))
    if isinstance(node, ast.ExceptHandler):
        return node.name == name
    return _is_named(node, name)


def _replace(source: str, spots: list[_Spot], name: str, mask: str) -> str:
    lines = source.splitlines(keepends=True)
    for spot in sorted(set(spots), key=lambda spot: (spot.line, spot.column), reverse=True):
        line = lines[spot.line - 1].encode()
        old, end = name.encode(), spot.column + len(name.encode())
        if line[spot.column : end] != old:
            continue
        new = f"{name} as {mask}" if spot.imported else mask
        lines[spot.line - 1] = (line[: spot.column] + new.encode() + line[end:]).decode()
    return "".join(lines)


def _is_masked(source: str, name: str) -> bool:
    try:
        tree = ast.parse(source)
    except _UNPARSABLE:
        return False
    return not any(True for _ in _references(tree, name))


def _rewrite(tree: ast.Module, name: str, mask: str) -> str:
    """Mask in the tree and print it anew: for names whose place nobody tells, as in f-strings."""
    for node in list(_references(tree, name)):
        if isinstance(node, ast.Name):
            node.id = mask
        elif isinstance(node, ast.alias):
            node.asname = mask
        elif isinstance(node, ast.Global):
            node.names = [mask if known == name else known for known in node.names]
        else:
            node.name = mask  # type: ignore[attr-defined]
    return ast.unparse(tree)


def _mask_tokens(source: str, name: str, mask: str) -> str:
    """Mask every bare occurrence up to where the source can no longer be read."""
    spots, before = [], ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.NAME and token.string == name and before != ".":
                column = len(token.line[: token.start[1]].encode())
                spots.append(_Spot(token.start[0], column))
            before = token.string
    except (tokenize.TokenError, IndentationError):
        pass
    return _replace(source, spots, name, mask)
