"""The program, or the description, in a model's answer.

The score must not hang on the form of an answer, so every common form is understood; and it must
not hang on luck, so a form is never guessed at by trying many parses: each candidate is parsed
once, and again only where a syntax error says that its end is missing. Time is linear in the text.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from pipeline.fences import Block, normal_lines, split_fences, without_thinking

MOST_CUTS = 12
_UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
_CODE_LINE = re.compile(
    r"(?:\s|$|#|@|async def |def |class |import \w|from \S+ import |if __name__"
    r"|[A-Za-z_][\w.]*(?:\[[^]]*\])?\s*(?::[^=]+)?=|[)\]}])"
)
_STARTS_CODE = re.compile(r"(?:async def |def |class |import \w|from \S+ import |@\w)")


class ExtractionKind(StrEnum):
    """Where in the answer the program was."""

    FENCED = "fenced"
    FENCE_OPEN = "fence_open"
    """In a fence that the end of the answer cut off."""
    BARE = "bare"
    """Without a fence."""
    CONTINUED = "continued"
    """The answer goes on from the header: the body of its function."""
    OTHER = "other"
    """Python that does not define the asked function."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was found in an answer."""

    program: str | None
    kind: ExtractionKind
    truncated: bool = False
    """Whether the answer breaks off in a fence or in a statement."""


NOTHING = Extraction(None, ExtractionKind.NONE)


def extract(completion: str, entry_point: str, *, header: str = "") -> Extraction:
    """Return the program in an answer: the last one that defines the entry point.

    Args:
        completion: the model's raw text.
        entry_point: the function that is asked for.
        header: preamble, signature and docstring, for answers that only continue them.
    """
    text = without_thinking(normal_lines(completion))
    if not text or not text.strip():
        return NOTHING
    for attempt in (_from_fences, _from_bare_text):
        found = attempt(text, entry_point)
        if found is not None:
            return found
    return _continued(text, entry_point, header) or _other(text)


def _from_fences(text: str, entry_point: str) -> Extraction | None:
    for block in reversed(split_fences(text).blocks):
        found = _defining(block.text, entry_point)
        if found is not None:
            kind = ExtractionKind.FENCED if block.closed else ExtractionKind.FENCE_OPEN
            return Extraction(found.source, kind, truncated=not block.closed)
    return None


def _from_bare_text(text: str, entry_point: str) -> Extraction | None:
    lines = [line for line in text.split("\n") if not line.lstrip().startswith(("```", "~~~"))]
    last = _last_definition(lines, entry_point)
    if last is None:
        return None
    for start in (_first_code_line(lines, last), last):
        found = _defining("\n".join(lines[start:]), entry_point)
        if found is not None:
            return Extraction(found.source, ExtractionKind.BARE, truncated=found.cut_at_end)
    return None


def _continued(text: str, entry_point: str, header: str) -> Extraction | None:
    body = text.strip("\n")
    if not header or not body.startswith((" ", "\t")):
        return None
    found = _defining(f"{header.rstrip()}\n{body}\n", entry_point)
    if found is None or found.lines_kept <= header.rstrip().count("\n") + 1:
        return None
    return Extraction(found.source, ExtractionKind.CONTINUED, truncated=found.cut_at_end)


def _other(text: str) -> Extraction:
    """Return Python that lacks the entry point, so that its absence shows when it runs."""
    blocks = split_fences(text).blocks
    for block in reversed(blocks):
        if (found := _longest_prefix(block.text)) and _has_code(found.tree):
            return Extraction(found.source, ExtractionKind.OTHER, truncated=not block.closed)
    if (broken := _broken_python(blocks)) is not None:
        return Extraction(broken.text, ExtractionKind.OTHER, truncated=not broken.closed)
    lines = text.split("\n")
    for start, line in enumerate(lines):
        if _STARTS_CODE.match(line):
            found = _longest_prefix("\n".join(lines[start:]))
            if found is not None and _has_code(found.tree):
                return Extraction(found.source, ExtractionKind.OTHER, found.cut_at_end)
            break
    return NOTHING


def _broken_python(blocks: list[Block]) -> Block | None:
    """Return the last block that calls itself Python, though nothing in it parses."""
    named = [block for block in blocks if block.language.startswith(("py", "python"))]
    written = [block for block in named if block.text.strip()]
    return written[-1] if written else None


def _has_code(tree: ast.Module) -> bool:
    """Tell whether a module does anything: a lone word or number parses as Python too."""
    trivial = (ast.Name, ast.Constant, ast.Attribute, ast.Tuple, ast.BinOp, ast.Compare)
    return any(
        not (isinstance(node, ast.Expr) and isinstance(node.value, trivial)) for node in tree.body
    )


@dataclass(frozen=True, slots=True)
class _Parsed:
    source: str
    tree: ast.Module
    lines_kept: int
    cut_at_end: bool


def _defining(source: str, entry_point: str) -> _Parsed | None:
    """Return the longest prefix that parses and makes the entry point callable."""
    found = _longest_prefix(source)
    if found is None:
        return None
    if _defines(found.tree, entry_point):
        return found
    owner = _method_owner(found.tree, entry_point)
    if owner is None:
        return None
    bridge = f"\n\n{entry_point} = {owner}().{entry_point}\n"
    return _Parsed(found.source + bridge, found.tree, found.lines_kept, found.cut_at_end)


def _longest_prefix(source: str) -> _Parsed | None:
    """Return the part before the statement in which the first syntax error lies.

    Each error names its line, so a cut goes straight there; a few rounds are enough, because what
    is left grows shorter by at least the broken statement.
    """
    lines = source.split("\n")
    end = len(lines)
    for _ in range(MOST_CUTS):
        text = "\n".join(lines[:end]).rstrip() + "\n"
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            end = _statement_start(lines, min(error.lineno or end, end))
        except _UNPARSABLE:
            return None
        else:
            rest = [line for line in lines[end:] if line.strip()]
            return _Parsed(text, tree, end, cut_at_end=bool(rest)) if tree.body else None
        if end <= 0:
            return None
    return None


def _statement_start(lines: list[str], line: int) -> int:
    """Return the index of the line at which the top-level statement around a line begins."""
    index = min(line, len(lines)) - 1
    while index > 0 and (not lines[index].strip() or lines[index][0] in " \t)]}"):
        index -= 1
    while index > 0 and lines[index - 1].startswith("@"):
        index -= 1
    return index


def _defines(tree: ast.Module, name: str) -> bool:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if node.name == name:
                return True
        elif isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == name for target in node.targets
        ):
            return True
    return False


def _method_owner(tree: ast.Module, name: str) -> str | None:
    """Return the last class with a method of this name, such as ``Solution``."""
    owners = [
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        and any(isinstance(part, ast.FunctionDef) and part.name == name for part in node.body)
    ]
    return owners[-1] if owners else None


def _last_definition(lines: list[str], entry_point: str) -> int | None:
    pattern = re.compile(rf"(?:async\s+)?def\s+{re.escape(entry_point)}\s*\(|class Solution\b")
    found = [index for index, line in enumerate(lines) if pattern.match(line)]
    return found[-1] if found else None


def _first_code_line(lines: list[str], definition: int) -> int:
    """Walk back from a definition over lines that look like code."""
    start = definition
    for index in range(definition - 1, -1, -1):
        if not _CODE_LINE.match(lines[index]):
            break
        if lines[index].strip() and not lines[index][0].isspace():
            start = index
    return start


def describe_view(program: str, entry_point: str) -> str:
    """Return a program as it is shown for describing: without the texts that describe it.

    The docstrings of the module and of the entry point are cut out by position; the rest keeps its
    form. A program that does not parse is shown as it is.
    """
    try:
        tree = ast.parse(program)
    except _UNPARSABLE:
        return program
    lines = program.splitlines(keepends=True)
    for node, only in sorted(_docstrings(tree, entry_point), key=lambda d: -d[0].lineno):
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        before = lines[first].encode()[: node.col_offset].decode()
        after = lines[last].encode()[node.end_col_offset :].decode()
        if before.strip() or after.strip(" \t\r\n;"):
            kept = before + ("pass" if only else '""') + after
        else:
            kept = f"{before}pass\n" if only else ""
        lines[first : last + 1] = [kept] if kept else []
    return "".join(lines)


def _docstrings(tree: ast.Module, entry_point: str) -> Iterator[tuple[ast.Expr, bool]]:
    owners: list[ast.Module | ast.FunctionDef | ast.AsyncFunctionDef] = [tree]
    owners += [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == entry_point
    ]
    for owner in owners:
        first = owner.body[0] if owner.body else None
        if (
            isinstance(first, ast.Expr)
            and isinstance(first.value, ast.Constant)
            and isinstance(first.value.value, str)
        ):
            yield first, len(owner.body) == 1 and owner is not tree


def extract_description(completion: str) -> str | None:
    """Return the prose in an answer to "describe this function"; None when there is none.

    Fenced code is left out. If nothing else is there, the fence holds the description: the
    docstring of a function in it, or its text.
    """
    text = without_thinking(normal_lines(completion))
    if text is None:
        return None
    split = split_fences(text)
    prose = _unquoted("\n".join(split.prose))
    if prose:
        return prose
    for block in split.blocks:
        if described := _described(block):
            return described
    return None


def _described(block: Block) -> str | None:
    found = _longest_prefix(block.text)
    if found is not None:
        for node in ast.walk(found.tree):
            if isinstance(node, ast.Module | ast.FunctionDef) and (text := ast.get_docstring(node)):
                return text
        if _has_code(found.tree):
            return None
    return _unquoted(block.text) or None


def _unquoted(text: str) -> str:
    text = text.strip()
    for quote in ('"""', "'''"):
        if text.startswith(quote):
            text = text[3:].removesuffix(quote)
            break
    return text.strip()
