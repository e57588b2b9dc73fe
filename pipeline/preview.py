"""The ``prompts`` command: exactly what a run would send for its first problems."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conf import RunConfig, UserError
from pipeline.compose import load_config
from pipeline.datasets import load_problems
from pipeline.masking import MASK
from pipeline.prompts import PromptBook
from pipeline.records import Problem
from pipeline.roles import GENERATE, ROLES, SUMMARIZE, make_book, make_sampling, model_of_role
from pipeline.state import entry_name, shown_header, shown_program
from pipeline.worked import unused_problems, with_example
from serve.messages import Prompt, Sampling
from serve.rendering import render
from serve.tokenizer import load_tokenizer

RULE = "-" * 80


@dataclass(frozen=True)
class Question:
    """One request that a chain makes, with what a run only knows later put in from the data set."""

    problem_id: str
    step: int
    role: str
    prompt: Prompt
    stands_in: str
    """What is taken from the data set in the model's place; empty if nothing."""


def preview(overrides: Sequence[str]) -> Iterator[str]:
    """Yield the lines that show the prompts of a configuration's problems.

    Raises:
        UserError: the configuration or the data set is wrong.
    """
    config = with_example(load_config(overrides))
    every = load_problems(replace(config.dataset, limit=None))
    shown = unused_problems(config, every)
    asked = [problem for problem in every.to_pylist() if problem["problem_id"] not in shown]
    readers = {role: Reader.of(config, role) for role in ROLES}
    for problem in asked[: config.dataset.limit]:
        for question in questions(problem, config):
            yield from show_request(_request(question, config), readers[question.role])


def questions(problem: Problem, config: RunConfig) -> Iterator[Question]:
    """Yield the requests of steps 0 and 1 for a problem.

    The program and the description of a step that no model has made are the data set's own.
    """
    books = {role: make_book(config, role) for role in ROLES}
    name, problem_id = problem["entry_point"], problem["problem_id"]
    if config.chain.start == "text":
        prompt = books[GENERATE].generate(_header(problem, 0), name)
        yield Question(problem_id, 0, GENERATE, prompt, "")
    program = problem["canonical_solution"] or problem["prompt"] + "    pass\n"
    shown = shown_program(program, entry_point=name, step=0)
    described = books[SUMMARIZE].summarize(shown, MASK)
    given = "" if config.chain.start == "code" else "its own solution for the program"
    yield Question(problem_id, 1, SUMMARIZE, described, given)
    prompt = books[GENERATE].generate(_header(problem, 1), entry_name(name, 1))
    yield Question(problem_id, 1, GENERATE, prompt, "its own docstring for the description")


def _header(problem: Problem, step: int) -> str:
    return shown_header(
        prompt=problem["prompt"],
        preamble=problem["preamble"],
        signature=problem["signature"],
        entry_point=problem["entry_point"],
        step=step,
        nl=re.sub(rf"\b{re.escape(problem['entry_point'])}\b", MASK, problem["docstring"]),
    )


@dataclass(frozen=True)
class Reader:
    """How one model reads prompts, as far as its tokenizer can be had here."""

    tokenizer: Any
    why_not: str
    """Why there is no tokenizer; empty if there is one."""

    @classmethod
    def of(cls, config: RunConfig, role: str) -> "Reader":
        """Load the tokenizer of the model that answers in a role."""
        if config.serve.backend == "fake":
            return cls(None, "serve=fake has none")
        try:
            return cls(load_tokenizer(model_of_role(config, role)), "")
        except UserError as error:
            return cls(None, str(error))


@dataclass(frozen=True)
class Request:
    """One request, with all that showing it needs."""

    title: str
    prompt: Prompt
    book: PromptBook
    sampling: Sampling
    template: str
    """What the prompt was made from, if marks of the model stand in it."""
    stands_in: str = ""


def show_request(request: Request, reader: Reader) -> Iterator[str]:
    """Yield the lines that show a request as its model reads it."""
    book, sampling = request.book, request.sampling
    yield f"{request.title}: {_who(book)}"
    if request.stands_in:
        yield f"(with {request.stands_in})"
    yield RULE
    text, size = _read(request.prompt, book, reader)
    yield text
    yield RULE
    stops = " ".join(map(repr, sampling.stop)) or "none but the model's own end"
    yield f"{size}; at most {sampling.max_tokens} to answer; stops: {stops}"
    yield from _doubts(book, request.template, reader)
    yield f"key {request.prompt.key()}\n"


def _request(question: Question, config: RunConfig) -> Request:
    book = make_book(config, question.role)
    return Request(
        title=f"{question.problem_id}, step {question.step}, {question.role}",
        prompt=question.prompt,
        book=book,
        sampling=make_sampling(config, question.role),
        template={
            GENERATE: book.config.generate_user,
            SUMMARIZE: book.config.summarize_user,
        }[question.role],
        stands_in=question.stands_in,
    )


def _who(book: PromptBook) -> str:
    example = f", worked example {book.example.name}" if book.example.wanted else ""
    return f"{book.model.label}, prompt set {book.config.name}{example}"


def _read(prompt: Prompt, book: PromptBook, reader: Reader) -> tuple[str, str]:
    """Return the text as the model reads it, as far as that is known, and its size."""
    if reader.tokenizer is None:
        turns = [f"[{turn.role}]\n{turn.content}" for turn in prompt.messages]
        text = "\n".join(turns) if prompt.text is None else prompt.text
        return text, f"not rendered and not counted, as the tokenizer is missing: {reader.why_not}"
    from jinja2 import TemplateError

    try:
        text, tokens = render(reader.tokenizer, prompt, book.model.chat_template)
    except (TemplateError, ValueError) as error:
        raise UserError(f"{book.model.label}: the chat template says: {error}") from error
    room = book.model.max_model_len - len(tokens)
    return text, f"{len(tokens)} tokens of {book.model.max_model_len}" + (
        "" if room > 0 else ", TOO LONG"
    )


def _doubts(book: PromptBook, template: str, reader: Reader) -> Iterator[str]:
    """Say which of the gap's marks are no single token, so that the model would not know them."""
    for part in ("fim_prefix", "fim_suffix", "fim_middle"):
        mark = getattr(book.model, part)
        if reader.tokenizer is not None and f"{{{part}}}" in template:
            count = len(reader.tokenizer.encode(mark, add_special_tokens=False))
            if count != 1:
                yield f"model.{part}={mark!r} is {count} tokens here, not one: check the card"
