"""The start of a function as source: preamble, signature, docstring."""

INDENT = "    "


def render_header(preamble: str, signature: str, docstring: str) -> str:
    """Return source that ends where the function's body begins.

    ``ast.get_docstring`` gives the text back exactly, whatever quotes, backslashes, braces or odd
    characters it holds, but for what it cleans away itself: tabs, indentation common to all lines,
    empty lines and white space at the edges.

    Args:
        preamble: imports and helpers; may be empty.
        signature: from ``def`` to the colon, any white space after it.
        docstring: plain text; without any, there will be no docstring.
    """
    before = preamble if not preamble or preamble.endswith("\n") else preamble + "\n\n\n"
    return f"{before}{signature.rstrip()}\n{_quoted(docstring)}"


def _quoted(text: str) -> str:
    lines = text.expandtabs().split("\n")
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) <= 1:
        line = "".join(lines).strip()
        quote = '\\"' if line.endswith('"') else ""
        escaped = _escape(line.removesuffix('"') if quote else line) + quote
        return f'{INDENT}"""{escaped}"""\n' if line else ""
    # On lines of its own, so that the first line keeps its place among the others.
    body = "".join(f"{INDENT}{_escape(line)}\n" if line else "\n" for line in lines)
    return f'{INDENT}"""\n{body}{INDENT}"""\n'


def _escape(line: str) -> str:
    """Escape what would end the string, or be read as something else."""
    line = line.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return "".join(char if char.isprintable() else _code(char) for char in line)


def _code(char: str) -> str:
    return f"\\x{ord(char):02x}" if char < "\x80" else f"\\U{ord(char):08x}"
