"""Keeps the journals: who has which answer, who is fetching one, and what that has cost so far.

One keeper serves one run, or all runs of a sweep. It alone writes; the processes that ask reach it
through ``pipeline/desk.py``. A request that nobody has answered is given to the first who asks;
whoever asks for the same meanwhile waits for that answer, so that nobody pays for it twice. An
answer that another run has paid for is copied into the asking run's own journal: each run folder
stays whole by itself.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TypeAlias

from pipeline.admission import Admission, Verdict
from pipeline.journal import JournalIndex, Request, read_answers
from pipeline.journal_writer import JournalWriter
from serve.messages import Completion


class Word(Enum):
    """What the keeper says where it has no answer."""

    PAY = "ask the engine, then bring the answer or give up"
    WAIT = "someone else is fetching it"
    STOP = "this run asks nothing more"
    MISSING = "there is no engine to ask"


Reply: TypeAlias = Completion | Word


@dataclass(frozen=True, slots=True)
class JournalRun:
    """A run as the keeper knows it; travels with every call, so that a keeper that was restarted
    finds its journals again.
    """

    journal: str
    """Absolute path of the run's own journal, a folder that exists."""
    sources: tuple[str, ...] = ()
    """Absolute paths of further journals to read, of other runs."""
    token_limit: int | None = None
    """Tokens that the run may pay for, read and written; null: any number."""
    ends_at: float | None = None
    """When the run asks nothing more, in seconds since 1970; null: never."""
    pays: bool = True
    """Whether there is an engine; without one, what no journal has is missing."""
    address: str | None = None
    """Where the journal is kept beside, for a run at an address."""


@dataclass(frozen=True, slots=True)
class Asker:
    """A process that asks."""

    name: str
    """Which of a run's askers; the process that replaces a dead one has the same."""
    process: str
    """Unlike that of any other process."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Where a run stands with its engine."""

    answers: int = 0
    """Answers that its journal has."""
    paid: int = 0
    """Of these, answers that its engine made."""
    tokens: int = 0
    """Tokens of the paid ones, read and written."""
    fetching: int = 0
    """Requests at the engine now."""
    spent_up: bool = False
    """Whether the token limit is reached."""


@dataclass
class _Book:
    """What the keeper knows of one run."""

    run: JournalRun
    writer: JournalWriter
    own: set[bytes] = field(default_factory=set)
    """Keys of what its own journal has."""
    paid: int = 0
    tokens: int = 0
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a chain leaves; then another takes its place."""
    _admission: Admission | None = None

    @property
    def admission(self) -> Admission:
        if self._admission is None:
            self._admission = Admission(
                spent=self.tokens,
                token_limit=self.run.token_limit,
                ends_at=self.run.ends_at,
                clock=time.time,
            )
        return self._admission

    @property
    def spent_up(self) -> bool:
        return self.run.token_limit is not None and self.tokens >= self.run.token_limit

    @property
    def is_over(self) -> bool:
        return self.spent_up or (self.run.ends_at is not None and time.time() >= self.run.ends_at)

    def count(self, tokens: int) -> None:
        self.paid += 1
        self.tokens += tokens


@dataclass
class _Claim:
    """A request that is being fetched."""

    run: JournalRun
    asker: Asker
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Keeper:
    """Keeps journals for one event loop.

    All methods raise UserError when a journal cannot be read or written.
    """

    def __init__(self) -> None:
        self._index = JournalIndex()
        self._books: dict[str, _Book] = {}
        self._read: set[str] = set()
        self._claims: dict[bytes, _Claim] = {}
        self._processes: dict[str, str] = {}

    async def find(self, run: JournalRun, asker: Asker, requests: Sequence[Request]) -> list[Reply]:
        """Return for each request its answer, or what to do about it."""
        self._recognize(asker)
        book = self._open(run)
        return [await self._reply(book, asker, request) for request in requests]

    async def wait(self, run: JournalRun, asker: Asker, request: Request) -> Reply:
        """Return what ``find`` says once it is not WAIT."""
        while True:
            (reply,) = await self.find(run, asker, [request])
            if reply is not Word.WAIT:
                return reply
            await self._claims[request.key()].over.wait()

    async def store(self, run: JournalRun, answers: Sequence[tuple[Request, Completion]]) -> None:
        """Write answers that were paid for; return when they are on disk."""
        book = self._open(run)
        await asyncio.gather(*(self._keep(book, *answer, paid=True) for answer in answers))

    async def give_up(self, requests: Sequence[Request]) -> None:
        """Let others fetch what could not be had."""
        for request in requests:
            self._release(request.key())

    async def tally(self, run: JournalRun) -> Tally:
        """Return where a run stands."""
        book = self._open(run)
        fetching = sum(claim.run == run for claim in self._claims.values())
        return Tally(len(book.own), book.paid, book.tokens, fetching, book.spent_up)

    async def admit(self, run: JournalRun, chains: Sequence[str]) -> bool:
        """Return whether chains may start, once that is known; see ``pipeline/admission.py``."""
        book = self._open(run)
        while (verdict := book.admission.admit(chains, book.tokens)) is Verdict.LATER:
            await book.left.wait()
        return verdict is Verdict.NOW

    async def leave(self, run: JournalRun, chains: Mapping[str, int | None]) -> None:
        """Note the chains that came out: what each cost, or null where it was suspended."""
        book = self._open(run)
        for chain, tokens in chains.items():
            book.admission.leave(chain, tokens)
        book.left.set()
        book.left = asyncio.Event()

    async def close(self, run: JournalRun) -> None:
        """Forget what a run that has ended is fetching, so that nobody waits for it."""
        for key, claim in list(self._claims.items()):
            if claim.run.journal == run.journal:
                self._release(key)
        self._books.pop(run.journal, None)

    def _open(self, run: JournalRun) -> _Book:
        if run.journal not in self._books:
            book = _Book(run, JournalWriter(Path(run.journal), run.address))
            for recorded in read_answers(Path(run.journal)):
                key = recorded.request.key()
                self._index.add(key, recorded.place)
                book.own.add(key)
                if recorded.paid:
                    book.count(recorded.tokens)
            for source in set(run.sources) - self._read:
                self._read.add(source)
                for recorded in read_answers(Path(source)):
                    self._index.add(recorded.request.key(), recorded.place)
            self._books[run.journal] = book
        return self._books[run.journal]

    def _recognize(self, asker: Asker) -> None:
        """A new process under a known name means that the old one is dead, and its claims void."""
        if self._processes.setdefault(asker.name, asker.process) != asker.process:
            self._processes[asker.name] = asker.process
            for key, claim in list(self._claims.items()):
                if claim.asker.name == asker.name:
                    self._release(key)

    async def _reply(self, book: _Book, asker: Asker, request: Request) -> Reply:
        key = request.key()
        known = self._index.find(key)
        if known is not None:
            await self._keep(book, request, known, paid=False)
            return known
        if not book.run.pays:
            return Word.MISSING
        if book.is_over:
            return Word.STOP
        if key in self._claims:
            return Word.WAIT
        self._claims[key] = _Claim(book.run, asker)
        return Word.PAY

    async def _keep(self, book: _Book, request: Request, answer: Completion, *, paid: bool) -> None:
        key = request.key()
        try:
            if key not in book.own:
                book.own.add(key)
                self._index.add(key, await book.writer.append(request, answer, paid=paid))
                if paid:
                    book.count(answer.prompt_tokens + answer.completion_tokens)
        except BaseException:
            book.own.discard(key)
            raise
        finally:
            if paid:
                self._release(key)

    def _release(self, key: bytes) -> None:
        claim = self._claims.pop(key, None)
        if claim is not None:
            claim.over.set()
