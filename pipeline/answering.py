"""Where a stage's requests go: to the journal first, then to an engine, or nowhere else.

A source is picklable and opened in the process that asks. What it opens has the interface of
``serve.EngineClient``, so stages do not know what answers them.
"""

from dataclasses import dataclass
from typing import Protocol

from pipeline.desk import Desk, KeeperHandle
from pipeline.journal import Request
from pipeline.keeper import Word
from pipeline.stages.base import AnswersPrompts, Suspended
from serve.client import ClientSpec, EngineClient
from serve.messages import Answer, Completion, Failure, Prompt, Sampling


class AnswerSource(Protocol):
    """How a process gets something to ask; picklable."""

    def open(self, asker: str) -> AnswersPrompts:
        """Return what answers, in this process.

        Args:
            asker: which of the run's processes this is; one that replaces it says the same.
        """
        ...


@dataclass(frozen=True)
class JournaledEngine:
    """A running engine behind the journal of a run; without an engine, the journal alone."""

    keeper: KeeperHandle
    model: str
    """Identity of the model that answers."""
    spec: ClientSpec | None

    def open(self, asker: str) -> AnswersPrompts:
        """Connect to the keeper and to the engine."""
        engine = EngineClient.open(self.spec) if self.spec else None
        return JournaledClient(engine, self.keeper.desk(f"{asker}/{self.model}"), self.model)


class JournaledClient:
    """Answers from the journal what it has; all else from the engine, by way of the journal.

    A failure is no answer: it is not kept, and asked for again by whoever needs it next.

    Args:
        engine: whom to ask; None where only journals answer.
        desk: the way to the journal.
        model: identity of the model that answers.
    """

    def __init__(self, engine: AnswersPrompts | None, desk: Desk, model: str) -> None:
        self._engine = engine
        self._desk = desk
        self._model = model

    async def generate(self, request_id: str, prompt: Prompt, sampling: Sampling) -> Answer:
        """Return the answer to this request once it is in the journal, or a Failure.

        Raises:
            Suspended: the run asks nothing more.
            UserError: the journal cannot be written.
        """
        request = Request.of(self._model, request_id, prompt, sampling)
        reply = await self._desk.find(request)
        if isinstance(reply, Completion):
            return reply
        if reply is Word.STOP:
            raise Suspended
        if self._engine is None or reply is Word.MISSING:
            return Failure("not_recorded", "the journal that is replayed has no such request")
        return await self._pay(self._engine, request, prompt, sampling)

    async def _pay(
        self, engine: AnswersPrompts, request: Request, prompt: Prompt, sampling: Sampling
    ) -> Answer:
        answer: Answer | None = None
        try:
            answer = await engine.generate(request.request_id, prompt, sampling)
        finally:
            if not isinstance(answer, Completion):
                await self._desk.give_up(request)
        if isinstance(answer, Completion):
            await self._desk.store(request, answer)
        return answer
