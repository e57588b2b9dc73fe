"""What a model sampled for one problem; equal samples are one, with their numbers kept."""

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pipeline.parsing import parse_module
from pipeline.records import Problem


@dataclass(frozen=True, slots=True)
class Sampled:
    """One program or spec, and which samples came out as it."""

    text: str
    samples: tuple[int, ...]
    """Numbers of the samples; a number may repeat where one sample holds equal specs."""
    logprob: float | None = None
    """Mean over the samples of each one's mean log-probability a token."""


@dataclass(frozen=True, slots=True)
class ProblemSamples:
    """All samples of one problem."""

    problem: Problem
    programs: tuple[Sampled, ...]
    """Whole programs."""
    asserts: tuple[Sampled, ...]
    """Assertions that call the entry point."""
    relations: tuple[Sampled, ...]
    """Assertions over the parameters' names and ``return_value``."""
    calls: tuple[str, ...]
    """Texts of all asserts that inputs are taken from, repeated as often as they were sampled."""


def group_samples(
    texts: Iterable[tuple[int, str]],
    normal: Callable[[str], str],
    logprobs: Mapping[int, float] | None = None,
) -> tuple[Sampled, ...]:
    """Group texts by their normal form, in the order of their first appearance.

    Args:
        texts: number of the sample, text.
        normal: gives the same text for what counts as equal.
        logprobs: mean log-probability a token by number of the sample, where it is known.
    """
    groups: dict[str, tuple[str, list[int]]] = {}
    for number, text in texts:
        groups.setdefault(normal(text), (text, []))[1].append(number)
    known = logprobs or {}
    return tuple(
        Sampled(text, tuple(numbers), _mean([known[n] for n in numbers if n in known]))
        for text, numbers in groups.values()
    )


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def normal_source(source: str) -> str:
    """Return Python source without what does not change its meaning: comments, layout.

    Source that does not parse is only stripped at its end.
    """
    try:
        return ast.unparse(parse_module(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source.rstrip()


def normal_assert(source: str) -> str:
    """Return a spec's source without comments, layout and assertion messages."""
    try:
        tree = parse_module(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.Assert):
                node.msg = None
        return ast.unparse(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source.rstrip()
