"""Python source that may be broken: its top-level pieces, how much of it parses, what it lacks.

Everything is linear in the text: a piece is parsed once, and of a piece that was cut off in the
middle only a few prefixes are tried.
"""

import ast
import functools
import itertools
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pipeline.answers import string_after
from pipeline.bindings import defined, has_function, has_method, missing

MAX_CUTS = 20
"""Prefixes of a broken piece that are tried."""

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
# An escape outside a string is skipped whole, or each quote in a run of them is tried as a start.
_BRACKETS = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|#.*|\\.|[()\[\]{}]")
_CODE = re.compile(
    r"(?:async\s+def|def|class|import|from|if|for|while|try|with|return|raise|assert|@|global|del)\b|#"
    r"|@\w|[A-Za-z_][\w.]*(?:\[[^\]]*\])?(?:\s*,\s*[A-Za-z_]\w*)*\s*(?:[-+*/|&^%]|//|\*\*)?=(?!=)"
    r"|[A-Za-z_][\w.]*:\s*[A-Za-z_]|[A-Za-z_][\w.]*\(|\"\"\"|'''"
)
_NEW_DEFINITION = re.compile(r"(?:async\s+def|def)\s+\w+\s*\(|class\s+\w+\s*[:(]|@\w")
_BLOCK = re.compile(r"(?:async|def|class|if|for|while|try|with)\b|@\w")
_INDENTED = re.compile(r"[ \t]+\S")
_GOES_ON = re.compile(r"(?:else|elif|except|finally)\b")
_OPENS = re.compile(r":[ \t]*(?:#.*)?$")

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Piece:
    """One top-level statement, or what may be one."""

    text: str
    tree: ast.Module | None
    """None: it does not parse."""
    looks_like_code: bool


class Positions:
    """From ``ast``'s line and column (in bytes of UTF-8) to offsets in the text."""

    def __init__(self, text: str) -> None:
        # Not str.splitlines: it also splits at characters that end no line of Python.
        self.lines: list[str] = _LINES.findall(text)
        self.starts = [0, *itertools.accumulate(map(len, self.lines))]

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a column of a line, the first of which is 1."""
        if line > len(self.lines):
            return self.starts[-1]
        before = self.lines[line - 1].encode("utf-8", "surrogatepass")[:column]
        return self.starts[line - 1] + len(before.decode("utf-8", "ignore"))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return where a node starts and ends."""
        start = self.offset(getattr(node, "lineno", 1), getattr(node, "col_offset", 0))
        end = self.offset(getattr(node, "end_lineno", 1), getattr(node, "end_col_offset", 0))
        return start, end


@functools.lru_cache(maxsize=16)
def parse(text: str) -> ast.Module | None:
    """Return the syntax tree, or None. The tree is shared: who looks at an answer, parses it often.

    Its nodes must not be changed; see ``parse_anew``.
    """
    return parse_anew(text)


def parse_anew(text: str) -> ast.Module | None:
    """Return a syntax tree of one's own, or None."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def level(text: str) -> str:
    """Return the text without the indentation that all its lines share."""
    return textwrap.dedent(text) if text.lstrip("\n")[:1] in (" ", "\t") else text


def tidy(text: str) -> str:
    """Return the text without empty lines around it, ended by a newline."""
    return text.strip("\n").rstrip() + "\n"


def with_needed(text: str, pieces: Iterable[Piece], *, after: bool = False) -> str:
    """Return a program with the definitions that it lacks and ``pieces`` have.

    They are put before it, or after it.
    """
    program = parse(text)
    wanted = missing(program) if program else set()
    if not wanted:
        return text
    offers = {
        name: piece
        for piece in pieces
        if piece.tree and piece.text not in text
        for name in defined(piece.tree)
    }
    taken: dict[str, Piece] = {}
    while found := {name for name in wanted if name in offers and name not in taken}:
        taken |= {name: offers[name] for name in found}
        wanted = {name for new in found if (tree := offers[new].tree) for name in missing(tree)}
    # In the order in which they were written, so that each finds what it needs when it runs.
    used = set(taken.values())
    chosen = [piece for piece in dict.fromkeys(offers.values()) if piece in used]
    parts = [tidy(piece.text) for piece in chosen]
    return "\n\n".join([text, *parts] if after else [*parts, text])


def split_pieces(text: str) -> list[Piece]:
    """Split a text into top-level pieces: statements, and lines of prose between them."""
    groups: list[list[str]] = []
    scan = _Scan()
    for line in text.split("\n"):
        starts = scan.is_free and line[:1].strip() and not _GOES_ON.match(line)
        if _NEW_DEFINITION.match(line) and not scan.is_free:
            # A bracket or string that is still open here was none.
            scan = _Scan()
            starts = True
        after_decorator = bool(groups) and groups[-1][-1].startswith("@")
        if not groups or (starts and not after_decorator):
            groups.append([])
        groups[-1].append(line)
        scan.read(line)
        if not _CODE.match(groups[-1][0]):
            scan = _Scan()
    return [_piece("\n".join(group)) for group in _rejoin(groups)]


def _rejoin(groups: list[list[str]]) -> list[list[str]]:
    """Put a comment at the margin back into the block that goes on after it."""
    joined: list[list[str]] = []
    block: int | None = None
    for group in groups:
        is_comment = group[0].startswith("#")
        if is_comment and block is not None and any(map(_INDENTED.match, group[1:])):
            for part in [*joined[block + 1 :], group]:
                joined[block].extend(part)
            del joined[block + 1 :]
        else:
            joined.append(group)
            if not is_comment:
                block = len(joined) - 1 if _BLOCK.match(group[0]) else None
    return joined


def split_body(text: str) -> tuple[str, str]:
    """Split a text that starts with an indented body before the first thing at the margin."""
    lines = text.split("\n")
    scan = _Scan()
    for at, line in enumerate(lines):
        if scan.is_free and line[:1].strip() and not line.startswith("#"):
            return "\n".join(lines[:at]), "\n".join(lines[at:])
        scan.read(line)
    return text, ""


def body_statements(text: str, name: str) -> int:
    """Return how many statements the last function ``name`` has; 0 where there is none."""
    tree = parse(text)
    functions = [node for node in (tree.body if tree else []) if isinstance(node, _Function)]
    return next((len(node.body) for node in reversed(functions) if node.name == name), 0)


def looks_like_code(text: str) -> bool:
    """Tell whether a text starts like a statement and not like a comment or prose."""
    return not text.startswith("#") and _CODE.match(text) is not None


def is_unfinished(text: str) -> bool:
    """Tell whether a bracket, string or line is still open at the end of a text."""
    scan = _Scan()
    for line in text.split("\n"):
        scan.read(line)
    return not scan.is_free


def _piece(text: str) -> Piece:
    is_code = bool(_CODE.match(text))
    return Piece(text, parse(text) if is_code else None, is_code)


def longest_prefix(text: str, name: str) -> str | None:
    """Return the longest prefix that parses and defines ``name``, of a text that was cut off."""
    return joined_prefix(split_pieces(text), name)


def joined_prefix(pieces: Iterable[Piece], name: str) -> str | None:
    """Return the same of a text that is split into its pieces already."""
    kept: list[str] = []
    for piece in pieces:
        if piece.tree is None and parse(piece.text) is None:
            if (start := cut(piece.text)) is not None:
                kept.append(start)
            break
        kept.append(piece.text)
    prefix = "\n".join(kept)
    tree = parse(prefix)
    return prefix if has_function(tree, name) or has_method(tree, "Solution", name) else None


def cut(text: str) -> str | None:
    """Return the longest prefix of whole lines that parses, of one piece that was cut off."""
    lines = text.split("\n")
    for end in list(_possible_ends(lines))[: -MAX_CUTS - 1 : -1]:
        prefix = "\n".join(lines[:end])
        if parse(prefix):
            return prefix
    return None


def _possible_ends(lines: list[str]) -> Iterator[int]:
    """Yield after which lines a prefix may end: no bracket, string, block or ``try`` is open."""
    scan = _Scan()
    openers: list[tuple[int, str]] = []
    start = 0
    for at, line in enumerate(lines):
        scan.read(line)
        if not scan.is_free:
            continue
        first = lines[start].expandtabs()
        start = at + 1
        words = first.split()
        if not words or words[0].startswith("#"):
            continue
        word, indent = words[0].rstrip(":"), len(first) - len(first.lstrip())
        openers = [opener for opener in openers if opener[0] < indent or opener == (indent, "try")]
        if (indent, "try") in openers and word != "try":
            openers.remove((indent, "try"))
        opens = bool(_OPENS.search(line))
        if opens and (indent, word) not in openers:
            openers.append((indent, word))
        if not opens and not word.startswith("@") and all(kind != "try" for _, kind in openers):
            yield at + 1


class _Scan:
    """What is open after the lines read so far."""

    def __init__(self) -> None:
        self.string = ""
        self.depth = 0
        self.continued = False

    @property
    def is_free(self) -> bool:
        """Whether a new statement may start."""
        return not (self.string or self.depth or self.continued)

    def read(self, line: str) -> None:
        """Go on by one line."""
        before, self.string = self.string, string_after(line, self.string)
        # Brackets on a line that a triple-quoted string touches are few and mostly balanced.
        if not before and not self.string and '"""' not in line and "'''" not in line:
            for match in _BRACKETS.finditer(line):
                if match.group() in "([{":
                    self.depth += 1
                elif match.group() in ")]}":
                    self.depth = max(0, self.depth - 1)
        self.continued = line.endswith("\\") and not self.string
