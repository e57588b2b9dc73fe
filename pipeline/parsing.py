"""Python source that is not ours, as a syntax tree."""

import ast
import warnings


def parse_module(source: str) -> ast.Module:
    """Parse a module without a warning about its style, such as one about an unknown escape.

    Raises:
        SyntaxError: it is not Python.
        ValueError: it holds null bytes.
        RecursionError, MemoryError: it is nested too deeply.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)
