"""What describes a program: cut out of the program that is shown, taken out of the answer."""

import ast
import inspect
import re
from collections.abc import Iterator

from pipeline.answers import Block, read_answer
from pipeline.source import Positions, parse

_QUOTES = ('"""', "'''")

_Owner = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def describe_view(program: str, entry_point: str) -> str:
    """Return a program as a model gets to see it for describing.

    The docstrings of the module and of the function are cut out at their positions, so that the
    model cannot copy them; the rest keeps its form. A string that follows a function's imports, as
    in HumanEval/115, counts as its docstring. A class ``Solution`` stands for the function. A
    program that does not parse is shown as it is.
    """
    tree = parse(program)
    if tree is None:
        return program
    positions = Positions(program)
    cuts = [_cut(program, owner, node, positions) for owner, node in _docstrings(tree, entry_point)]
    for start, end, put in sorted(cuts, reverse=True):
        program = program[:start] + put + program[end:]
    return program


def split_function(program: str, name: str) -> tuple[str, str]:
    """Return a program up to the end of a function's signature, and its body with what follows.

    The place between is where a docstring goes. Both parts are whole lines. Of a program that
    does not parse the first line that ends the signature counts; without one, all is body.
    """
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    tree = parse(program)
    found = [n for n in tree.body if isinstance(n, functions) and n.name == name] if tree else []
    if not found:
        signature = re.search(rf"^(?:async +)?def {re.escape(name)}\b", program, re.MULTILINE)
        end = signature and re.compile(r":[ \t]*\n").search(program, signature.end())
        return (program[: end.end()], program[end.end() :]) if end else ("", program)
    positions = Positions(program)
    first = found[-1].body[0]
    decorators = getattr(first, "decorator_list", [])
    line = min(node.lineno for node in (first, *decorators))
    start, margin = positions.span(first)[0], positions.offset(line, 0)
    if program[margin:start].strip() and not decorators:
        return program[:start].rstrip() + "\n", "    " + program[start:]
    return program[:margin], program[margin:]


def _docstrings(tree: ast.Module, name: str) -> Iterator[tuple[_Owner, ast.Expr]]:
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    owners: list[_Owner] = [tree]
    for node in tree.body:
        if isinstance(node, functions) and node.name == name:
            owners.append(node)
        elif isinstance(node, ast.ClassDef) and node.name == "Solution":
            owners += [node, *(part for part in node.body if isinstance(part, functions))]
    for owner in owners:
        for statement in owner.body:
            if isinstance(statement, ast.Expr) and _is_text(statement.value):
                yield owner, statement
            if not isinstance(statement, ast.Import | ast.ImportFrom):
                break


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _cut(program: str, owner: _Owner, node: ast.Expr, positions: Positions) -> tuple[int, int, str]:
    """Return where a docstring starts and ends, and what to put there."""
    start, end = positions.span(node)
    if len(owner.body) == 1 and not isinstance(owner, ast.Module):
        return start, end, "pass"
    line_start = positions.offset(node.lineno, 0)
    if after := re.compile(r"[ \t]*;?[ \t]*").match(program, end):
        end = after.end()
    line_end = re.compile(r"\r\n|\r|\n|$").match(program, end)
    if line_end and not program[line_start:start].strip():
        return line_start, line_end.end(), ""
    return start, end, ""


def extract_description(completion: str) -> str | None:
    """Return the description in a model's answer to "describe this function".

    Thinking, the marks of fences and the quotes of a docstring are taken off; what is in a fence
    stays, because examples often are. If a fence holds a docstring, alone or in a function without
    a body, that docstring is the description.

    Returns:
        The text, its lines without common indentation or white space at their ends; None when
        nothing is left, or the thinking was broken off.
    """
    answer = read_answer(completion)
    for block in answer.blocks:
        if (docstring := _docstring_of(block)) is not None:
            return _clean(docstring)
    return _clean(_unquoted(_clean(answer.unfenced) or ""))


def _docstring_of(block: Block) -> str | None:
    tree = parse(block.text)
    nodes = tree.body if tree else []
    if len(nodes) == 1 and isinstance(nodes[0], ast.FunctionDef | ast.AsyncFunctionDef):
        nodes = [node for node in nodes[0].body if not _is_filler(node)]
    match nodes:
        case [ast.Expr(value=ast.Constant(value=str(text)))]:
            return inspect.cleandoc(text)
    return None


def _is_filler(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) and node.value.value is ...
    return isinstance(node, ast.Pass)


def _unquoted(text: str) -> str:
    for quotes in _QUOTES:
        if text.lstrip("rRuU").startswith(quotes):
            head, _, tail = text.lstrip("rRuU")[3:].partition(quotes)
            return "\n\n".join(part for part in (inspect.cleandoc(head), tail.strip()) if part)
        if text.endswith(quotes) and text.count(quotes) == 1:
            return text[:-3]
    return text


def _clean(text: str) -> str | None:
    lines = [line.rstrip() for line in text.expandtabs().split("\n")]
    return inspect.cleandoc("\n" + "\n".join(lines)) or None
