"""What a model wrote when it was asked for specs, taken apart into single specs and calls.

An answer may be prose around fenced blocks, or bare code that breaks off anywhere. A spec is the
shortest run of lines from an ``assert`` on that parses; what stands around it is left aside.
"""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from pipeline.answers import read_answer
from pipeline.parsing import parse_module

MOST_LINES = 20
MOST_CALL_CHARS = 2000
_ASSERT = re.compile(r"\bassert\b")
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


def code_of(text: str) -> str:
    """Return the fenced blocks of an answer; all of it where there are none."""
    answer = read_answer(text)
    return "\n".join(block.text for block in answer.blocks) or answer.around


def find_assertions(code: str, name: str) -> Iterator[str]:
    """Yield the source of each assert statement that uses a name."""
    ends = [*(match.start() for match in _ASSERT.finditer(code)), len(code)]
    for start, end in pairwise(ends):
        text = _first_assert(code[start:end], name)
        if text is not None:
            yield text


def find_calls(code: str, name: str) -> Iterator[str]:
    """Yield the source of each call of a function, as it stands in the text."""
    for match in re.finditer(rf"(?<![\w.]){re.escape(name)}\(", code):
        text = code[match.start() : match.start() + MOST_CALL_CHARS]
        for end in (found.end() for found in re.finditer(r"\)", text)):
            if isinstance(_expression(text[:end]), ast.Call):
                yield text[:end]
                break


def _first_assert(text: str, name: str) -> str | None:
    lines = text.split("\n")
    for count in range(1, min(len(lines), MOST_LINES) + 1):
        source = "\n".join(lines[:count])
        try:
            body = parse_module(source).body
        except _UNREADABLE:
            continue
        if body and isinstance(body[0], ast.Assert) and name in _names(body[0]):
            return ast.get_source_segment(source, body[0])
        return None
    return None


def _names(statement: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


def _expression(text: str) -> ast.expr | None:
    try:
        body = parse_module(text).body
    except _UNREADABLE:
        return None
    match body:
        case [ast.Expr(value=value)]:
            return value
    return None
