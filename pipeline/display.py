"""Encoded values and tests as short text for people."""

import hashlib

from pipeline.records import Outcome, Test
from sandbox.encoding import Undecodable, decode

WIDTH = 200


def show_value(encoding: str | None, width: int = WIDTH) -> str:
    """Return a value as Python would write it, or its encoding where it has no literal.

    Longer texts are cut and end in a digest of the whole, so that two values that differ only
    beyond the cut still look different.
    """
    if encoding is None:
        return ""
    try:
        text = repr(decode(encoding))
    except (Undecodable, ValueError, RecursionError):  # ValueError: an int of 4,300 digits
        text = encoding
    if len(text) <= width:
        return text
    digest = hashlib.sha256(encoding.encode()).hexdigest()[:12]
    return f"{text[:width]}... (sha256 {digest})"


def plain_text(encoding: str) -> str:
    """Return ``str`` of a value, or its encoding where that has none."""
    try:
        return str(decode(encoding))
    except (Undecodable, ValueError, RecursionError):  # ValueError: an int of 4,300 digits
        return encoding


def show_outcome(outcome: Outcome, test: Test, name: str) -> str:
    """Return one line that says what was called, what came of it, and what was expected."""
    call = f"{name}({shorten(test['args'])})" if test["args"] is not None else "its assertions"
    if outcome["verdict"] != "fail":
        return f"test {test['test_id']}, {call}: {outcome['verdict']} {outcome['message']}".rstrip()
    if test["check"] is not None:
        return f"test {test['test_id']}, {call}: fail {outcome['message']}".rstrip()
    given, wanted = show_value(outcome["encoding"], 80), show_value(test["expected"], 80)
    return f"test {test['test_id']}, {call}: gave {given}, expected {wanted}"


def shorten(text: str, width: int = 80) -> str:
    """Return one line of at most ``width`` characters and an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[:width] + "..."
