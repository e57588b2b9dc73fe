"""CodeBLEU (arXiv 2009.10297, section 3) of two Python programs, the same on every run.

Theory of operation. The parts come from the ``codebleu`` package, but for the matching of data
flows. There the package numbers variables in the order in which it meets them, and in loops and
merged statements it has put the names through a ``set``, whose order depends on the process's hash
seed. So the same two programs get another score on another day. The flows themselves, as sets, do
not depend on it. We take them from the package, put the names of each into the order in which they
stand in the source, and do the numbering and matching here.
"""

import tokenize
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

from analysis.libraries import need

EXTRA = "metrics"
_LANGUAGE = "python"
_PLAIN_WEIGHT = 0.2

Flow = tuple[str, str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class CodeBleu:
    """The four parts, each in [0, 1]."""

    ngrams: float
    """BLEU of the tokens between spaces."""
    weighted_ngrams: float
    """The same, with keywords weighing five times as much."""
    syntax: float
    """Share of the reference's subtrees that the candidate has."""
    data_flow: float | None
    """Share of the reference's data flows that the candidate has; null where it has none."""

    @property
    def score(self) -> float:
        """Mean of the parts that are defined (section 3.4, equal weights)."""
        parts = [self.ngrams, self.weighted_ngrams, self.syntax]
        if self.data_flow is not None:
            parts.append(self.data_flow)
        return sum(parts) / len(parts)

    @property
    def package_score(self) -> float:
        """Mean of four, as the package has it: a data flow of 0 or none counts as 1."""
        return (self.ngrams + self.weighted_ngrams + self.syntax + (self.data_flow or 1.0)) / 4


def code_bleu(reference: str, candidate: str) -> CodeBleu:
    """Compare two programs, or two bodies.

    Raises:
        UserError: the extra ``metrics`` is not installed.
    """
    reference, candidate = reference.strip(), candidate.strip()
    if not reference or not candidate:
        return CodeBleu(0.0, 0.0, 0.0, None if not reference else 0.0)
    tokens, other = reference.split(), candidate.split()
    weights = {token: 1.0 if token in _keywords() else _PLAIN_WEIGHT for token in tokens}
    return CodeBleu(
        ngrams=_package("bleu").corpus_bleu([[tokens]], [other]),
        weighted_ngrams=_package("weighted_ngram_match").corpus_bleu(
            [[[tokens, weights]]], [other]
        ),
        syntax=_package("syntax_match").corpus_syntax_match(
            [[reference]], [candidate], _LANGUAGE, tree_sitter_language=_grammar()
        ),
        data_flow=match_flows(data_flows(reference), data_flows(candidate)),
    )


def match_flows(reference: Sequence[Flow], candidate: Sequence[Flow]) -> float | None:
    """Return the share of the reference's flows found in the candidate, each used once."""
    if not reference:
        return None
    found = Counter(reference) & Counter(candidate)
    return found.total() / len(reference)


def data_flows(program: str) -> list[Flow]:
    """Return where each value comes from, with variables numbered by their first appearance.

    Returns:
        (variable, relation, variables that it depends on) for each use, in source order.
    """
    flows = _package("dataflow_match").get_data_flow(_without_comments(program), _parser())
    name_at = {position: name for name, position, *_ in flows}
    number: Callable[[str], str] = _Numbering()
    numbered = []
    for name, _, relation, parents, positions in flows:
        ordered = tuple(map(number, _in_source_order(parents, positions, name_at)))
        numbered.append((number(name), relation, ordered))
    return numbered


class _Numbering:
    def __init__(self) -> None:
        self._numbers: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        return self._numbers.setdefault(name, f"v{len(self._numbers)}")


def _in_source_order(
    names: Sequence[str], positions: Sequence[int], name_at: dict[int, str]
) -> Sequence[str]:
    """Undo the order of a set; names that repeat have been through none and stay as they are."""
    if len(set(names)) < len(names):
        return names
    first: dict[str, float] = {}
    for position in sorted(positions):
        first.setdefault(name_at.get(position, ""), position)
    return sorted(names, key=lambda name: (first.get(name, inf), name))


def _without_comments(program: str) -> str:
    """Return the program as the package compares it; what cannot be tokenised stays whole."""
    try:
        stripped: str = _package("parser").remove_comments_and_docstrings(program, _LANGUAGE)
    except (SyntaxError, ValueError, tokenize.TokenError):
        return program
    return stripped


def _package(module: str) -> Any:
    return need(f"codebleu.{module}", extra=EXTRA)


@cache
def _grammar() -> Any:
    need("tree_sitter_python", extra=EXTRA)
    return _package("utils").get_tree_sitter_language(_LANGUAGE)


@cache
def _parser() -> list[Any]:
    parser = need("tree_sitter", extra=EXTRA).Parser()
    parser.language = _grammar()
    return [parser, _package("parser").DFG_python]


@cache
def _keywords() -> frozenset[str]:
    folder = Path(need("codebleu", extra=EXTRA).__file__).parent / "keywords"
    return frozenset((folder / f"{_LANGUAGE}.txt").read_text(encoding="utf-8").split())
