"""The contract of a stage: declared columns, one method, no Ray.

A stage works on one row, because rows are independent and move on alone: a chain leaves a stage
when its own request is answered. ``pipeline/runner.py`` holds stages to what they declare: a
stage sees only the columns it reads, and must return exactly the columns it writes.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import pyarrow as pa

from conf import RunConfig
from sandbox.types import Job, ProgramResult
from serve.messages import Answer, Prompt, Sampling

Row = dict[str, Any]


class Suspended(Exception):
    """The run asks nothing more for now: the row stays open and is made when the run goes on."""


class AnswersPrompts(Protocol):
    """What a stage needs of an engine client."""

    async def generate(self, request_id: str, prompt: Prompt, sampling: Sampling) -> Answer:
        """Return a completion, or the reason why there is none.

        Raises:
            Suspended: the run's budget is spent; no stage catches it.
        """
        ...


class RunsPrograms(Protocol):
    """What a stage needs of a sandbox pool."""

    async def run(self, job: Job) -> ProgramResult:
        """Return what the program did on each of the job's calls."""
        ...


@dataclass(frozen=True)
class StageContext:
    """What a stage is built from: the run's configuration, its step, and the shared services."""

    config: RunConfig
    step: int
    engine: AnswersPrompts
    sandbox: RunsPrograms
    describer: AnswersPrompts | None = None
    """Another engine that describes programs; null: the same."""


class Stage(ABC):
    """One kind of work on one row."""

    name: ClassVar[str]
    reads: ClassVar[pa.Schema]
    writes: ClassVar[pa.Schema]
    uses: ClassVar[str] = ""
    """The shared service it waits for: ``engine``, ``sandbox`` or nothing."""
    takes_stopped: ClassVar[bool] = False
    """Whether it also handles a row that stopped earlier in the same round."""

    def __init__(self, context: StageContext) -> None:
        self.config = context.config
        self.step = context.step
        self.engine = context.engine
        self.describer = context.describer or context.engine
        self.sandbox = context.sandbox

    @abstractmethod
    async def process(self, row: Row) -> Row:
        """Return the columns in ``writes``, made from those in ``reads``."""


def columns(schema: pa.Schema, *names: str) -> pa.Schema:
    """Return the named fields of a schema, in that order."""
    return pa.schema([schema.field(name) for name in names])
