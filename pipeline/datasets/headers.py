"""A problem's prompt, taken apart at exact positions."""

import ast
import inspect
import io
import tokenize
from dataclasses import dataclass

from pipeline.parsing import parse_module


class BadPrompt(ValueError):
    """The prompt does not parse, or does not define the entry point."""


@dataclass(frozen=True, slots=True)
class Header:
    """The parts of a prompt; ``preamble + signature`` is a prefix of it."""

    preamble: str
    """What stands before the function: imports, helpers, constants."""
    signature: str
    """From ``def`` (or its first decorator) to the colon."""
    docstring: str
    """The function's docstring, dedented; empty when there is none."""


def split_prompt(prompt: str, entry_point: str) -> Header:
    """Take a prompt apart.

    Args:
        prompt: Python source that ends inside the function to write, after its docstring.
        entry_point: name of that function.

    Raises:
        BadPrompt: the prompt does not parse, or has no top-level function of that name.
    """
    function = find_function(_parse(prompt), entry_point)
    if function is None:
        raise BadPrompt(f"the prompt does not define {entry_point!r} at its top level")
    first = min([function.lineno, *(node.lineno for node in function.decorator_list)])
    preamble = _head(prompt, first - 1)
    rest = prompt[len(preamble) :]
    return Header(
        preamble=preamble,
        signature=rest[: _signature_length(rest)],
        docstring=_description(function),
    )


def find_function(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    """Return the last top-level function of that name."""
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    return found[-1] if found else None


def _description(function: ast.FunctionDef) -> str:
    """Return the docstring, also where an import stands before it, as in HumanEval/115."""
    for statement in function.body:
        match statement:
            case ast.Expr(value=ast.Constant(value=str(text))):
                return inspect.cleandoc(text).rstrip()
            case ast.Import() | ast.ImportFrom():
                pass
            case _:
                break
    return ""


def _head(source: str, rows: int) -> str:
    # Not str.splitlines: it also splits at characters that end no line of Python.
    return "".join(io.StringIO(source).readlines()[:rows])


def _parse(prompt: str) -> ast.Module:
    # A prompt without a docstring ends at the colon and parses only with a body.
    for candidate in (prompt, prompt.rstrip() + "\n    pass\n"):
        try:
            return parse_module(candidate)
        except SyntaxError as failure:
            error = failure
        except ValueError as failure:
            raise BadPrompt(str(failure)) from failure
    raise BadPrompt(f"the prompt does not parse: {error.msg} (its line {error.lineno})")


def _signature_length(source: str) -> int:
    """Return how many characters lead from the start of a definition to its colon."""
    depth = lambdas = 0
    defined = False
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            defined = defined or token.string == "def"
            lambdas += token.string == "lambda"
        elif token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
            if token.string == ":" and lambdas:
                lambdas -= 1
            elif token.string == ":" and defined and depth == 0:
                row, column = token.end
                return len(_head(source, row - 1)) + column
    raise BadPrompt("the function's signature has no end")
