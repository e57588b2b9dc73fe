"""Renaming the function of a problem to ``func``, by what Python means and not by how it is spelt.

IdentityChain (arXiv 2310.14053) masks the meaningful name from step 1 on. A name is masked where it
refers to the module's function: its definition, its recursive calls, other references. Attributes,
strings, keyword arguments, parts of words, and variables or parameters that only share the spelling
stay as they are.
"""

import ast
import builtins
import contextlib
import functools
import io
import itertools
import re
import tokenize
from collections.abc import Iterable

from pipeline.headers import render_header
from pipeline.scopes import Scope, Site, find_sites
from pipeline.source import Positions, parse, parse_anew

__all__ = ["MASK", "mask_check", "mask_program", "mask_signature", "render_header"]

MASK = "func"

_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")


def mask_program(source: str, name: str, mask: str = MASK) -> str:
    """Return a program in which the function is called ``mask``.

    What the program itself calls ``mask`` gets an underscore where the two would meet. A builtin of
    that name that the program does not define is not the function. A program that does not parse
    is masked token by token, as far as it can be read.

    Args:
        source: Python source of a module.
        name: what its function is called.
        mask: what it shall be called.
    """
    return _mask(source, name, mask, builtin=hasattr(builtins, name))


@functools.lru_cache(maxsize=4096)
def mask_check(source: str, name: str, mask: str = MASK) -> str:
    """Return an assert-test that calls ``mask`` where it called the function.

    Kept, because every step of a problem's every chain asks for the same.
    """
    return _mask(source, name, mask, builtin=False)


def mask_signature(signature: str, name: str, mask: str = MASK) -> str:
    """Return a signature (``def`` to the colon, maybe decorated) of a function called ``mask``."""
    definition = re.compile(rf"^([ \t]*(?:async\s+)?def\s+){re.escape(name)}\b", re.MULTILINE)
    return definition.sub(lambda match: match[1] + mask, signature, count=1)


def _mask(source: str, name: str, mask: str, *, builtin: bool) -> str:
    if name == mask or name not in source:
        return source
    tree = parse_anew(source)
    if tree is None:
        return _mask_tokens(source, name, mask)
    try:
        return _mask_tree(source, tree, name, mask, builtin=builtin)
    except RecursionError:
        return _mask_tokens(source, name, mask)


def _mask_tree(source: str, tree: ast.Module, name: str, mask: str, *, builtin: bool) -> str:
    sites = find_sites(tree)
    module = sites[0].scopes[0] if sites else Scope()
    if builtin and name not in module.bound:
        return source
    ours = [site for site in sites if site.name == name and site.home() is module]
    crowded = _crowded_scopes(ours, module, mask)
    theirs = [site for site in sites if site.name == mask and site.home() in crowded]
    spare = _spare(mask, source)
    names = {id(site): mask for site in ours} | {id(site): spare for site in theirs}
    return _rename(source, tree, [*ours, *theirs], names)


def _crowded_scopes(ours: Iterable[Site], module: Scope, mask: str) -> list[Scope]:
    """Return the scopes whose own ``mask`` would hide the function, or be overwritten by it."""
    homes = [Site(s.node, s.attribute, mask, s.scopes, s.binds).home() for s in ours]
    crowded = [home for home in homes if home is not module]
    return [*crowded, module] if mask in module.bound else crowded


def _spare(mask: str, source: str) -> str:
    spare = mask + "_"
    while spare in source:
        spare += "_"
    return spare


def _rename(source: str, tree: ast.Module, sites: list[Site], names: dict[int, str]) -> str:
    positions = Positions(source)
    edits = set()
    for site in sites:
        place = _place(site, source, positions)
        if place is not None:
            keep = f"{site.name} as " if _is_plain_import(site) else ""
            edits.add((place, place + len(site.name), keep + names[id(site)]))
    text = source
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    for site in sites:
        _rename_in_tree(site, names[id(site)])
    # Positions inside f-strings can be wrong before Python 3.12; then the form has to go.
    renamed = parse(text)
    is_right = renamed is not None and ast.dump(renamed) == ast.dump(tree)
    return text if is_right else ast.unparse(tree) + "\n"


def _is_plain_import(site: Site) -> bool:
    return isinstance(site.node, ast.alias) and site.attribute == "name"


def _place(site: Site, source: str, positions: Positions) -> int | None:
    """Return the offset of a site's name in the source, if it is there."""
    start, end = positions.span(site.node)
    word = re.compile(rf"\b{re.escape(site.name)}\b")
    if isinstance(site.node, ast.Name | ast.arg | ast.NamedExpr) or _is_plain_import(site):
        return start if word.match(source, start) else None
    if site.attribute == "asname":
        return end - len(site.name)
    # A keyword comes first: def, class, global, nonlocal, except ... as, case ... as, *, **.
    if isinstance(site.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        match = re.compile(r"(?:async\b|def\b|class\b|\s|\\\n)+").match(source, start)
        return match.end() if match and word.match(source, match.end()) else None
    if isinstance(site.node, ast.MatchAs | ast.MatchStar):
        return end - len(site.name)
    first = word.search(source, start, end)
    return first.start() if first else None


def _rename_in_tree(site: Site, new: str) -> None:
    node, attribute = site.node, site.attribute
    if _is_plain_import(site):
        node.asname = new  # type: ignore[attr-defined]  # an alias
    elif attribute == "names":
        old: list[str] = getattr(node, attribute)
        setattr(node, attribute, [new if name == site.name else name for name in old])
    elif isinstance(node, ast.NamedExpr):
        node.target.id = new
    else:
        setattr(node, attribute, new)


def _mask_tokens(source: str, name: str, mask: str) -> str:
    """Mask every bare occurrence up to where the source can no longer be read as tokens."""
    tokens: list[tokenize.TokenInfo] = []
    with contextlib.suppress(tokenize.TokenError, IndentationError):
        tokens.extend(tokenize.generate_tokens(io.StringIO(source).readline))
    starts = [0, *itertools.accumulate(map(len, io.StringIO(source).readlines()))]
    places = []
    before, depth = "", 0
    for token, after in itertools.pairwise([*tokens, None]):
        if token is None:
            break
        depth += (token.string in _OPENING) - (token.string in _CLOSING)
        is_keyword = depth > 0 and after is not None and after.string == "="
        is_ours = token.type == tokenize.NAME and token.string == name
        if is_ours and before != "." and not is_keyword:
            places.append(starts[token.start[0] - 1] + token.start[1])
        before = token.string
    for place in reversed(places):
        source = source[:place] + mask + source[place + len(name) :]
    return source
