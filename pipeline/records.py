"""The nested records of ``pipeline/schemas.py`` as typed dictionaries, one twin a struct."""

from enum import StrEnum
from typing import TypedDict


class StopReason(StrEnum):
    """Why a chain ended. The first four are results, the next two the model's failures,
    the rest not the model's doing: such a chain is left out of every denominator. A suspended
    chain has not ended; it reaches no table.
    """

    LENGTH = "length"
    FIXED_POINT = "fixed_point"
    CYCLE = "cycle"
    DECIDED = "decided"
    UNPARSABLE = "unparsable"
    TRUNCATED = "truncated"
    PROMPT_TOO_LONG = "prompt_too_long"
    ENGINE_ERROR = "engine_error"
    HARNESS = "harness"
    NOT_RECORDED = "not_recorded"
    SUSPENDED = "suspended"


class Test(TypedDict):
    """One test of a problem; either ``args`` or ``check`` is given."""

    test_id: str
    args: str | None
    check: str | None
    expected: str | None
    comparator: str
    atol: float | None
    source: str


class Problem(TypedDict):
    """One problem of a data set."""

    problem_id: str
    dataset: str
    prompt: str
    entry_point: str
    preamble: str
    signature: str
    docstring: str
    tests: list[Test]
    canonical_solution: str | None


class Answer(TypedDict):
    """One request to the engine and what came back."""

    request_id: str
    prompt_key: str
    prompt: str
    text: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    finish_reason: str | None
    logprob: float | None
    attempts: int
    asked_at: float
    seconds: float
    error_kind: str | None
    error_message: str | None


class Outcome(TypedDict):
    """What one test came to."""

    test_id: str
    kind: str
    encoding: str | None
    message: str
    cpu_s: float
    verdict: str
    matches_previous: bool | None


class Summary(TypedDict):
    """A description of a program."""

    answer: Answer
    nl: str | None


class Generation(TypedDict):
    """A program written from a description; without an answer, the data set's own."""

    answer: Answer | None
    pl: str | None
    extraction: str


class Execution(TypedDict):
    """What running a program on its problem's tests came to."""

    load: str
    load_message: str
    verdict: str
    isolation: str
    cpu_s: float
    outcomes: list[Outcome]


class Step(TypedDict):
    """One finished step of a chain."""

    index: int
    summary: Summary | None
    generation: Generation | None
    execution: Execution | None


class Resample(TypedDict):
    """One more program from the description at which a chain broke."""

    index: int
    from_step: int
    to_step: int
    generation: Generation
    execution: Execution | None
    finding: str


class Stop(TypedDict):
    """Why and where a chain ended."""

    reason: str
    step: int
    cycle_start: int | None
    cycle_length: int | None
    closing_comparable: int | None
    closing_matching: int | None
    message: str | None
