"""The process that holds one engine: what Ray Serve starts, watches and replaces."""

import logging
import os
import re
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import NoReturn

from conf import RunConfig
from serve.bulk import Ask, BulkAnswers, Reply
from serve.engine import Engine, EngineDead, Facts
from serve.messages import Answer, Prompt, Sampling
from serve.models import ResolvedModel
from serve.orphans import end_children_with_this_process
from serve.vllm_args import node_environment

log = logging.getLogger(__name__)

ROOT_CAUSE = re.compile(r"\b((?:[A-Z]\w*)?(?:Error|Exception): \S.*)")
LINE_CHARS = 600


class EngineReplica:
    """One engine and its life.

    Args:
        config: the run's configuration.
        model: as the driver found it.
        log_dir: where the replica's own output goes, if that folder exists on this node.
    """

    def __init__(self, config: RunConfig, model: ResolvedModel, log_dir: str) -> None:
        log_file = _redirect_output(Path(log_dir))
        self._watch = None if config.serve.backend == "fake" else end_children_with_this_process()
        try:
            self._engine = _make_engine(config, model)
        except Exception as error:
            raise EngineStartError(why_it_failed(error, log_file)) from error
        self._answers = BulkAnswers(self.generate)

    async def generate_many(self, client: str, asks: Sequence[Ask]) -> AsyncIterator[list[Reply]]:
        """Answer a client's requests; see ``serve/bulk.py``."""
        async for replies in self._answers.answer(client, asks):
            yield replies

    async def generate(self, request_id: str, prompt: Prompt, sampling: Sampling) -> Answer:
        """See ``serve.engine.Engine``. A dead engine takes its process with it.

        Ray then reports every request in flight as lost, and starts another replica.
        """
        try:
            return await self._engine.generate(request_id, prompt, sampling)
        except EngineDead:
            _leave()

    async def check_health(self) -> None:
        """Called by Ray Serve every few seconds; a dead engine takes its process with it."""
        try:
            await self._engine.check_health()
        except EngineDead:
            # Ray Serve would ask twice more and then wait for requests that nobody answers.
            _leave()

    def describe(self) -> Facts:
        """Return what the engine says of itself."""
        return self._engine.describe()


def _leave() -> NoReturn:
    log.exception("the engine died; leaving so that another replica takes over")
    os._exit(1)


class EngineStartError(Exception):
    """Why a replica could not start, in one line."""


def why_it_failed(error: Exception, log_file: Path | None) -> str:
    """Return the most telling line: the engine's processes print the root cause, not raise it."""
    reason = " ".join(str(error).split()) or type(error).__name__
    printed = log_file.read_text(encoding="utf-8", errors="replace") if log_file else ""
    causes = [match.group(1) for match in ROOT_CAUSE.finditer(printed)]
    if causes and causes[-1].partition(": ")[2] not in reason:
        return f"{reason[:LINE_CHARS]} <- {causes[-1][:LINE_CHARS]}"
    return reason[:LINE_CHARS]


def _make_engine(config: RunConfig, model: ResolvedModel) -> Engine:
    if config.serve.backend == "fake":
        from serve.fake_engine import FakeEngine

        return FakeEngine(config.model, config.serve)
    from serve.vllm_engine import VllmEngine

    os.environ.update(node_environment(config.engine))
    return VllmEngine(config.model, model.on_this_node(config.model), config.engine)


def _redirect_output(log_dir: Path) -> Path | None:
    """Send this process's output, and its children's, to a file of the run."""
    if not log_dir.is_dir():
        return None
    path = log_dir / f"engine-{os.uname().nodename}-{os.getpid()}.log"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    sys.stdout.flush()
    sys.stderr.flush()
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.close(descriptor)
    return path
