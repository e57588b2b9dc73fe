"""One problem of the trust job as a row: its samples in Arrow, its answers as samples."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from conf import RunConfig
from pipeline.extraction import extract
from pipeline.records import Answer, Problem
from pipeline.roles import answer_proper
from pipeline.schemas import PROBLEM
from pipeline.trust.reading import code_of, find_assertions, find_calls
from pipeline.trust.roles import ASSERT, INPUT, PROGRAM, RELATION, TRUST_ROLES, trust_book
from pipeline.trust.samples import (
    ProblemSamples,
    Sampled,
    group_samples,
    normal_assert,
    normal_source,
)
from pipeline.trust.schemas import TRUST_ROW
from pipeline.trust.specs import RETURN_VALUE

Answers = Mapping[str, list[Answer]]
"""Answers by role; the place in the list is the number of the sample."""


def open_rows(problems: Iterable[Problem]) -> pa.Table:
    """Return problems of which nothing has been sampled, schema TRUST_ROW."""
    return _table(dict(problem) for problem in problems)


def stored_rows(stored: Iterable[ProblemSamples]) -> pa.Table:
    """Return problems with their samples, schema TRUST_ROW."""
    return _table({**each.problem, "samples": _plain(each)} for each in stored)


def samples_of(row: Mapping[str, Any]) -> ProblemSamples:
    """Return the samples of a row that has them."""
    samples = row["samples"]
    return ProblemSamples(
        problem=problem_of(row),
        programs=tuple(map(_sampled, samples["programs"])),
        asserts=tuple(map(_sampled, samples["asserts"])),
        relations=tuple(map(_sampled, samples["relations"])),
        calls=tuple(samples["calls"]),
    )


def problem_of(row: Mapping[str, Any]) -> Problem:
    """Return the problem of a row."""
    problem: Problem = Problem(**{name: row[name] for name in PROBLEM.names})  # type: ignore[typeddict-item]
    return problem


def answers_of(row: Mapping[str, Any]) -> Answers:
    """Return the answers of a row; none in a role in which nobody was asked."""
    return {role: row[f"{role}_answers"] or [] for role in TRUST_ROLES}


def read_answers(problem: Problem, answers: Answers, config: RunConfig) -> dict[str, Any]:
    """Return what the model wrote, as the column ``samples`` has it.

    An answer without code is a program too, an empty one: the model was asked and failed. A request
    that the engine failed is no sample.
    """
    reader = _Reader(problem, config)
    programs = list(reader.programs(answers[PROGRAM]))
    asserts = list(reader.specs(ASSERT, answers[ASSERT], problem["entry_point"]))
    relations = reader.specs(RELATION, answers[RELATION], RETURN_VALUE)
    calls = [] if config.trust.inputs == "model" else [text for _, text in asserts]
    calls += list(reader.calls(answers[INPUT]))
    most = config.trust.specs_a_text
    return _plain(
        ProblemSamples(
            problem=problem,
            programs=group_samples(programs, normal_source, _logprobs(answers[PROGRAM])),
            asserts=group_samples(_first(asserts, most), normal_assert),
            relations=group_samples(_first(relations, most), normal_assert),
            calls=tuple(calls),
        )
    )


class _Reader:
    """Reads the answers about one problem."""

    def __init__(self, problem: Problem, config: RunConfig) -> None:
        self.problem = problem
        self.name = problem["entry_point"]
        self.book = trust_book(config)

    def programs(self, answers: Iterable[Answer]) -> Iterator[tuple[int, str]]:
        for number, text in self._texts(answers):
            yield number, extract(text, self.name, header=self.problem["prompt"]).program or ""

    def specs(self, role: str, answers: Iterable[Answer], needed: str) -> Iterator[tuple[int, str]]:
        begun = self.book.begun(role, self.name)
        for number, text in self._texts(answers):
            yield from ((number, found) for found in find_assertions(code_of(begun + text), needed))

    def calls(self, answers: Iterable[Answer]) -> Iterator[str]:
        begun = self.book.begun(INPUT, self.name)
        for _, text in self._texts(answers):
            yield from find_calls(code_of(begun + text), self.name)

    def _texts(self, answers: Iterable[Answer]) -> Iterator[tuple[int, str]]:
        for number, answer in enumerate(answers):
            if answer["text"] is not None:
                yield number, answer_proper(answer["text"], self.book.model)


def _first(texts: Iterable[tuple[int, str]], most: int) -> Iterator[tuple[int, str]]:
    """Yield the first so many texts of each sample."""
    taken: dict[int, int] = {}
    for number, text in texts:
        taken[number] = taken.get(number, 0) + 1
        if taken[number] <= most:
            yield number, text


def _logprobs(answers: Iterable[Answer]) -> dict[int, float]:
    """Return each sample's mean log-probability a token, where the engine gave it."""
    return {
        number: answer["logprob"] / answer["completion_tokens"]
        for number, answer in enumerate(answers)
        if answer["logprob"] is not None and answer["completion_tokens"]
    }


def _plain(samples: ProblemSamples) -> dict[str, Any]:
    return {
        "programs": list(map(asdict, samples.programs)),
        "asserts": list(map(asdict, samples.asserts)),
        "relations": list(map(asdict, samples.relations)),
        "calls": list(samples.calls),
    }


def _sampled(fields: Mapping[str, Any]) -> Sampled:
    return Sampled(fields["text"], tuple(fields["samples"]), fields["logprob"])


def _table(rows: Iterable[dict[str, Any]]) -> pa.Table:
    empty = dict.fromkeys(TRUST_ROW.names)
    return pa.Table.from_pylist([{**empty, **row} for row in rows], schema=TRUST_ROW)
