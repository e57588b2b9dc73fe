"""Where a stage's requests go: to the journal first, then to an engine, or nowhere else.

Both sources are picklable and opened in the process that asks. What they open has the interface
of ``serve.EngineClient``, so stages do not know which one they talk to.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pipeline.journal import JournalIndex, JournalWriter, Request
from pipeline.stages.base import AnswersPrompts
from serve.client import ClientSpec, EngineClient
from serve.messages import Answer, Completion, Failure, Prompt, Sampling

Arrived = Callable[[], None]
"""Told of each answer that reached the journal."""


class AnswerSource(Protocol):
    """How a process gets something to ask; picklable."""

    def open(self, arrived: Arrived) -> AnswersPrompts:
        """Return what answers, in this process."""
        ...


@dataclass(frozen=True)
class JournaledEngine:
    """A running engine behind the journal of a run."""

    spec: ClientSpec
    journal: Path
    """An absolute path to an existing folder."""
    model: str
    """Identity of the model that answers."""

    def open(self, arrived: Arrived) -> AnswersPrompts:
        """Load the journal and connect to the engine."""
        engine = EngineClient.open(self.spec)
        return JournaledClient(engine, self.journal, self.model, arrived=arrived)


@dataclass(frozen=True)
class Replay:
    """The journal of another run, and no engine."""

    journal: Path
    """An absolute path."""
    model: str
    """Identity of the model that answered then."""

    def open(self, arrived: Arrived) -> AnswersPrompts:  # noqa: ARG002
        """Load the journal."""
        return ReplayClient(self.journal, self.model)


class JournaledClient:
    """Answers from the journal what it has; all else from the engine, by way of the journal.

    A failure is no answer: it is not kept, and asked for again by the next start.
    """

    def __init__(
        self, engine: AnswersPrompts, journal: Path, model: str, *, arrived: Arrived
    ) -> None:
        self._engine = engine
        self._model = model
        self._arrived = arrived
        self._index = JournalIndex.load(journal)
        self._writer = JournalWriter(journal)

    async def generate(self, request_id: str, prompt: Prompt, sampling: Sampling) -> Answer:
        """Return the answer to this request once it is in the journal, or a Failure.

        Raises:
            UserError: the journal cannot be written.
        """
        request = Request.of(self._model, request_id, prompt, sampling)
        known = self._index.find(request)
        if known is not None:
            return known
        answer = await self._engine.generate(request_id, prompt, sampling)
        if isinstance(answer, Completion):
            self._index.add(request, await self._writer.append(request, answer))
            self._arrived()
        return answer


class ReplayClient:
    """Answers from a journal alone."""

    def __init__(self, journal: Path, model: str) -> None:
        self._model = model
        self._journal = journal
        self._exact = JournalIndex.load(journal)
        self._alike = JournalIndex.load(journal, Request.content_key)

    async def generate(self, request_id: str, prompt: Prompt, sampling: Sampling) -> Answer:
        """Return what was answered to this request, or to the same prompt under another name."""
        request = Request.of(self._model, request_id, prompt, sampling)
        known = self._exact.find(request) or self._alike.find(request)
        return known or Failure("engine_error", f"not in the journal {self._journal}")
