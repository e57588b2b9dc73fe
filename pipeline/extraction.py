"""The program, or the description, in a model's answer.

Theory of operation. The answer is read once into fenced blocks and the text around them. The
program is the last block that defines the entry point; else the last definition in the text around;
else a body that continues the header, fenced or not. A block is taken whole, as the model wrote it;
from a text with prose in it only what is Python. Definitions that the program uses but lacks are
taken from the answer's other code. Each candidate is parsed once, so that long reasoning before the
answer costs no more than reading it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from pipeline.answers import Answer, Block, read_answer
from pipeline.bindings import has_function, has_method
from pipeline.descriptions import describe_view, extract_description
from pipeline.source import (
    Piece,
    body_statements,
    cut,
    is_unfinished,
    joined_prefix,
    level,
    longest_prefix,
    looks_like_code,
    parse,
    split_body,
    split_pieces,
    tidy,
    with_needed,
)

__all__ = ["Extraction", "ExtractionKind", "describe_view", "extract", "extract_description"]

OWNER = "Solution"
"""The class that a function may be a method of."""

_RESULT = re.compile(r"^[ \t]*(?:return|yield|raise)\b", re.MULTILINE)


class ExtractionKind(StrEnum):
    """How a program was found in an answer."""

    FENCED = "fenced"
    """The last fenced block that defines the entry point."""
    BARE = "bare"
    """A definition outside any fence."""
    METHOD = "method"
    """A class ``Solution`` with the method; a function that calls it was added."""
    CONTINUED = "continued"
    """A body that goes on from the header, without a fence."""
    FENCED_BODY = "fenced_body"
    """A body in a fence; the header was put before it."""
    BROKEN = "broken"
    """It is meant to define the entry point but does not parse; kept as it is."""
    OTHER = "other"
    """Python that does not define the entry point; kept, so that this shows when it runs."""
    NO_CODE = "no_code"
    """No Python."""
    GIVEN = "given"
    """Not taken from an answer: the data set's own solution, from which the chain starts."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was found in an answer."""

    program: str | None
    """None: the answer holds no Python."""
    kind: ExtractionKind
    truncated: bool
    """Whether the answer breaks off: in its thinking, in a fence, or in a statement."""


def extract(completion: str, entry_point: str, *, header: str = "") -> Extraction:
    """Return the program in a model's answer.

    A function of another name is not renamed: that the model named it wrongly is part of what it
    wrote.

    Args:
        completion: the raw text.
        entry_point: the function that was asked for.
        header: preamble, signature and docstring, for answers that are only the body after them.
    """
    answer = read_answer(completion)
    search = _Search(answer, entry_point, header)
    for attempt in (
        search.continued,
        search.fenced,
        search.bare,
        search.fenced_body,
        search.broken,
        search.other,
    ):
        found = attempt()
        if found is not None:
            return found
    return Extraction(None, ExtractionKind.NO_CODE, answer.unfinished)


class _Search:
    """One answer and what is looked for in it."""

    def __init__(self, answer: Answer, name: str, header: str) -> None:
        self.answer = answer
        self.name = name
        self.header = header
        self.definition = re.compile(
            rf"^(?:(?:async\s+)?def\s+{re.escape(name)}\s*\(|{re.escape(name)}\s*(?::[^=\n]*)?=)",
            re.MULTILINE,
        )
        self._around: list[Piece] | None = None

    def continued(self) -> Extraction | None:
        """A base model's way: the text starts with the body, and may ramble on after it."""
        text = self.answer.before.strip("\n")
        if not self.header or text[:1] not in (" ", "\t"):
            return None
        body, rest = split_body(text)
        whole = self._with_header(body)
        if whole is None:
            return None
        program, cut_off = whole
        program = with_needed(tidy(program), split_pieces(rest), after=True)
        ended = bool(rest.strip() or self.answer.blocks)
        return Extraction(program, ExtractionKind.CONTINUED, cut_off and not ended)

    def fenced(self) -> Extraction | None:
        """The last block that defines the entry point and parses."""
        for block in self._blocks_with_name():
            text = level(block.text)
            if parse(text) is None and not block.closed:
                text = longest_prefix(text, self.name) or text
            kind = self._kind_of(text, ExtractionKind.FENCED)
            if kind is not None:
                return self._finish(text, kind, block)
        return None

    def bare(self) -> Extraction | None:
        """The last definition outside all fences."""
        if not self._has_name(self.answer.around):
            return None
        text = self.answer.around.strip("\n")
        kind = self._kind_of(text, ExtractionKind.BARE)
        if kind is not None:
            return self._finish(text, kind)
        pieces = self._pieces()
        if all(piece.tree for piece in pieces[:-1]) and pieces[0].looks_like_code:
            prefix = joined_prefix(pieces, self.name)
            if prefix is not None:
                kind = self._kind_of(prefix, ExtractionKind.BARE) or ExtractionKind.BARE
                return self._finish(prefix, kind, cut_off=True)
        return self._last_definition(pieces)

    def fenced_body(self) -> Extraction | None:
        """The last block, or else the whole text, that is the body of the function."""
        blocks = self.answer.blocks or (Block("", self.answer.around, True),)
        for block in reversed(blocks):
            if self.header and _RESULT.search(block.text) and not self._has_name(block.text):
                whole = self._with_header(block.text.strip("\n"))
                if whole is not None:
                    program, cut_off = whole
                    if self.answer.blocks:
                        return self._finish(program, ExtractionKind.FENCED_BODY, block)
                    return self._finish(program, ExtractionKind.CONTINUED, cut_off=cut_off)
        return None

    def broken(self) -> Extraction | None:
        """What was meant to define the entry point."""
        for block in self._blocks_with_name():
            if self.definition.search(level(block.text)):
                return self._finish(level(block.text), ExtractionKind.BROKEN, block)
        pieces = [piece for piece in self._pieces() if self.definition.search(piece.text)]
        if pieces:
            return self._finish(pieces[-1].text, ExtractionKind.BROKEN)
        body = split_body(self.answer.before.strip("\n"))[0]
        if self.header and body[:1] in (" ", "\t") and looks_like_code(body.lstrip()):
            program = tidy(self._before_body() + body)
            return Extraction(program, ExtractionKind.BROKEN, is_unfinished(body))
        return None

    def other(self) -> Extraction | None:
        """Python without the entry point: the last block with a definition, else the last."""
        blocks = [block for block in self.answer.blocks if _is_python(block)]
        if blocks:
            defining = [block for block in blocks if _has_definition(block.text)]
            block = (defining or blocks)[-1]
            text = level(block.text)
            if parse(text) is None and not block.closed:
                text = cut(text) or text
            return self._finish(text, ExtractionKind.OTHER, block)
        if self.answer.blocks:
            return None
        tree = parse(self.answer.around)
        if tree is not None and _does_something(self.answer.around):
            return self._finish(self.answer.around, ExtractionKind.OTHER)
        pieces = [piece.text for piece in self._pieces() if piece.tree]
        if any(map(_has_definition, pieces)):
            return self._finish("\n".join(pieces), ExtractionKind.OTHER)
        return None

    def _has_name(self, text: str) -> bool:
        return re.search(rf"\b{re.escape(self.name)}\b", text) is not None

    def _blocks_with_name(self) -> Iterator[Block]:
        return (block for block in reversed(self.answer.blocks) if self._has_name(block.text))

    def _pieces(self) -> list[Piece]:
        if self._around is None:
            self._around = split_pieces(self.answer.around.strip("\n"))
        return self._around

    def _kind_of(self, text: str, kind: ExtractionKind) -> ExtractionKind | None:
        """Return how a text defines the entry point, if it does."""
        tree = parse(text)
        if has_function(tree, self.name):
            return kind
        return ExtractionKind.METHOD if has_method(tree, OWNER, self.name) else None

    def _last_definition(self, pieces: list[Piece]) -> Extraction | None:
        for piece in reversed(pieces):
            if has_function(piece.tree, self.name):
                return self._finish(piece.text, ExtractionKind.BARE)
            if has_method(piece.tree, OWNER, self.name):
                return self._finish(piece.text, ExtractionKind.METHOD)
            if piece.tree is None and piece.looks_like_code and self._has_name(piece.text):
                start = longest_prefix(piece.text, self.name)
                if start is not None:
                    kind = self._kind_of(start, ExtractionKind.BARE) or ExtractionKind.BARE
                    return self._finish(start, kind, cut_off=piece is pieces[-1])
        return None

    def _with_header(self, body: str) -> tuple[str, bool] | None:
        """Return header and body as a program, and whether the body's end had to go."""
        before = self._before_body()
        least = body_statements(before + "    pass\n", self.name) - 1
        for indented in _indentations(body):
            whole = before + indented
            if body_statements(whole, self.name) > least:
                return whole, False
        for indented in _indentations(body):
            start = longest_prefix(before + indented, self.name)
            if start is not None and body_statements(start, self.name) > least:
                return start, True
        return None

    def _before_body(self) -> str:
        before = self.header.rstrip(" \t")
        return before if before.endswith("\n") else before + "\n"

    def _finish(
        self,
        text: str,
        kind: ExtractionKind,
        block: Block | None = None,
        cut_off: bool = False,
    ) -> Extraction:
        if kind is not ExtractionKind.OTHER:
            text = with_needed(tidy(text), self._offers(block))
        program = tidy(text)
        if kind is ExtractionKind.METHOD:
            program += f"\n\ndef {self.name}(*args, **kwargs):\n"
            program += f"    return {OWNER}().{self.name}(*args, **kwargs)\n"
        truncated = cut_off or self.answer.unfinished or (block is not None and not block.closed)
        return Extraction(program, kind, truncated)

    def _offers(self, chosen: Block | None) -> Iterator[Piece]:
        """Yield the code outside the chosen block, or the chosen text, that a program may need."""
        if chosen is None:
            yield from self._other_functions(self._pieces())
        for block in self.answer.blocks:
            if block is not chosen and _is_python(block):
                yield from self._other_functions(split_pieces(block.text))

    def _other_functions(self, pieces: list[Piece]) -> Iterator[Piece]:
        return (piece for piece in pieces if not has_function(piece.tree, self.name))


def _indentations(body: str) -> Iterator[str]:
    """Yield a body as it is, with spaces for tabs, and moved to four spaces."""
    if body[:1] in (" ", "\t"):
        yield body
        yield body.expandtabs(4)
    lines = level(body.expandtabs(4)).split("\n")
    yield "\n".join("    " + line if line.strip() else line for line in lines)


def _is_python(block: Block) -> bool:
    if block.language.startswith("py") and block.text.strip():
        return True
    text = level(block.text)
    return _does_something(text) if not block.language else _has_definition(text)


def _does_something(text: str) -> bool:
    """Tell whether a text is more Python than a lone word or number, which parse as well."""
    tree = parse(text)
    return tree is not None and any("(" in line or "=" in line for line in text.split("\n"))


def _has_definition(text: str) -> bool:
    return re.search(r"^(?:async def|def|class) ", text, re.MULTILINE) is not None
