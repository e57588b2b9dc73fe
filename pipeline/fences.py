"""Splitting a model's answer into prose and fenced blocks, in one pass over its lines."""

import re
from dataclasses import dataclass, field

_OPEN = re.compile(r"^\s{0,3}(`{3,}|~{3,})\s*([^`]*)$")
_TRIPLE = re.compile(r'"""|\'\'\'')
_THOUGHT_END = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_THOUGHT = re.compile(r"<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)


@dataclass
class Block:
    """One fenced block."""

    language: str
    lines: list[str] = field(default_factory=list)
    closed: bool = False

    @property
    def text(self) -> str:
        """The block's content."""
        return "\n".join(self.lines) + "\n"


@dataclass
class Split:
    """An answer taken apart."""

    prose: list[str] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)


def normal_lines(text: str) -> str:
    """Return a text whose lines end with a bare newline."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def without_thinking(text: str) -> str | None:
    """Return what follows the model's thinking; None if the thinking never ends.

    The opening tag may be missing, because chat templates put it into the prompt.
    """
    ends = list(_THOUGHT_END.finditer(text))
    rest = text[ends[-1].end() :] if ends else text
    opened = _THOUGHT.search(rest)
    return rest if opened is None else rest[: opened.start()].strip() or None


def split_fences(text: str) -> Split:
    """Take an answer apart; a fence inside a string literal of the block does not close it."""
    split = Split()
    block: Block | None = None
    fence, quote = "", ""
    for line in text.split("\n"):
        found = _OPEN.match(line)
        if block is None:
            if found is None:
                split.prose.append(line)
                continue
            fence, quote = found[1], ""
            block = Block(found[2].strip().lower())
            split.blocks.append(block)
        elif found and not found[2].strip() and _closes(found[1], fence) and not quote:
            block.closed = True
            block = None
        else:
            block.lines.append(line)
            quote = _quote_after(line, quote)
    return split


def _closes(mark: str, fence: str) -> bool:
    return mark[0] == fence[0] and len(mark) >= len(fence)


def _quote_after(line: str, quote: str) -> str:
    """Return the triple quote that is open after a line, or an empty text."""
    for mark in _TRIPLE.findall(line):
        if not quote:
            quote = mark
        elif mark == quote:
            quote = ""
    return quote
