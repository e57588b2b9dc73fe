"""The parts of a model's answer: what it thought, its fenced blocks, the text around them.

One pass over the lines; nothing here knows what the answer should hold.
"""

import re
from dataclasses import dataclass

_TAGS = "think|thinking|thought|reasoning"
# A tag in quotes is part of a program that deals with tags.
_CLOSING_TAG = re.compile(rf"</(?:{_TAGS})>(?![\"'])", re.IGNORECASE)
_OPENING_TAG = re.compile(rf"^[ \t]*<(?:{_TAGS})>", re.IGNORECASE | re.MULTILINE)

_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})([^`]*)$")
_GLUED_OPENING = re.compile(r"[^`]*[^`\s][ \t]*(`{3,})([\w.+#-]+)[ \t]*$")
_GLUED_CLOSING = re.compile(r"([^`]*[^`\s])[ \t]*```[ \t]*$")
_STRING = re.compile(r"\"\"\"|'''|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|#.*|\\.")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block."""

    language: str
    """First word after the fence, in lower case; empty if there is none."""
    text: str
    """Its lines, without the fence's own indentation."""
    closed: bool
    """Whether its closing fence came."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer without its thinking."""

    blocks: tuple[Block, ...]
    around: str
    """The text outside all blocks."""
    before: str
    """The part of it that stands before the first block."""
    unfenced: str
    """All of it, only the fences themselves left out."""
    unfinished: bool
    """Whether it certainly ends inside its thinking or inside a block."""


def strip_thinking(completion: str) -> tuple[str, bool]:
    """Return the text after the thinking, and whether the thinking was broken off.

    A closing tag counts without an opening one, which is then in the chat template. What comes
    after an opening tag that is never closed is no answer.
    """
    text = completion.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    ends = [match.end() for match in _CLOSING_TAG.finditer(text)]
    text = text[ends[-1] :] if ends else text
    opening = _OPENING_TAG.search(text)
    return (text[: opening.start()], True) if opening else (text, False)


def read_answer(completion: str) -> Answer:
    """Take an answer apart."""
    text, broken_off = strip_thinking(completion)
    reader = _Reader(text.split("\n"))
    reader.read()
    # A fence without a language that nothing closes may itself be a closing one.
    unfinished = broken_off or any(not b.closed and b.language for b in reader.blocks)
    return Answer(
        blocks=tuple(reader.blocks),
        around="\n".join(reader.around),
        before="\n".join(reader.around[: reader.first_block]),
        unfenced="\n".join(reader.unfenced),
        unfinished=unfinished,
    )


def string_after(line: str, inside: str) -> str:
    """Return the triple quote that is open after a line of Python; empty if none is.

    Args:
        line: without its end.
        inside: the triple quote that is open before it; empty if none is.
    """
    at = 0
    while True:
        if inside:
            end = line.find(inside, at)
            if end < 0:
                return inside
            at, inside = end + 3, ""
        match = _STRING.search(line, at)
        if match is None:
            return ""
        at = match.end()
        inside = match.group() if match.group() in ('"""', "'''") else ""


class _Reader:
    """Reads lines into blocks and the text around them.

    A fence inside a triple-quoted string is text: docstrings show examples in fences. If a string
    is still open at the end of the answer, it was no string, and strings are left unregarded from
    its block on.
    """

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.blocks: list[Block] = []
        self.around: list[str] = []
        self.unfenced: list[str] = []
        self.first_block: int | None = None
        """How many lines of ``around`` come before the first block."""
        self.heed_strings = True

    def read(self) -> None:
        at = 0
        while at < len(self.lines):
            opening = _opening(self.lines[at])
            if opening is None:
                self.around.append(self.lines[at])
                self.unfenced.append(self.lines[at])
                at += 1
            else:
                if self.first_block is None:
                    self.first_block = len(self.around)
                at = self._read_block(at + 1, *opening)

    def _read_block(self, start: int, indent: str, fence: str, language: str) -> int:
        """Read a block from its first line; return where to go on."""
        body: list[str] = []
        string = ""
        for at in range(start, len(self.lines)):
            line = self.lines[at].removeprefix(indent)
            if not string:
                if (found := _FENCE.match(line)) and found[2].startswith(fence):
                    self._add(Block(language, "\n".join(body), True))
                    # With a language it also opens the next block.
                    return at if found[3].strip() else at + 1
                if (
                    "```" in line
                    and (glued := _GLUED_CLOSING.match(line))
                    and not string_after(glued[1], "")
                ):
                    self._add(Block(language, "\n".join([*body, glued[1]]), True))
                    return at + 1
            body.append(line)
            string = string_after(line, string) if self.heed_strings else ""
        if string and any(map(_FENCE.match, body)):
            self.heed_strings = False
            return self._read_block(start, indent, fence, language)
        self._add(Block(language, "\n".join(body), False))
        return len(self.lines)

    def _add(self, block: Block) -> None:
        self.blocks.append(block)
        self.unfenced.append(block.text)


def _opening(line: str) -> tuple[str, str, str] | None:
    """Return indentation, fence and language of a line that opens a block."""
    if match := _FENCE.match(line):
        words = match[3].replace("{", " ").replace("}", " ").split()
        return match[1], match[2], words[0].lstrip(".").lower() if words else ""
    if "```" in line and (match := _GLUED_OPENING.match(line)):
        return "", match[1], match[2].lower()
    return None
