"""The chain job, assembled: problems in, a run folder out."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import ray

from conf import RunConfig
from pipeline.board import Board, Standing
from pipeline.plan import ChainPlan
from pipeline.progress import Progress
from pipeline.runfolder import RunFolder
from pipeline.runner import stream_chains
from pipeline.tables import to_tables
from sandbox.pool import SandboxPool
from serve.client import ClientSpec

REFRESH_S = 1.0
FLUSH_S = 5.0
EARLY_STOPS = ("fixed_point", "cycle", "decided")


@dataclass
class ShardWriter:
    """Collects finished chains and publishes them a few seconds at a time."""

    folder: RunFolder
    config: RunConfig
    model: str
    describer: str | None = None
    """Identity of the model that describes, if it is another."""
    _waiting: list[dict[str, Any]] = field(default_factory=list)
    _published_at: float = float("-inf")

    def add(self, chains: list[dict[str, Any]]) -> None:
        """Take finished chains; publish when the last shard is old enough."""
        self._waiting += chains
        if time.monotonic() - self._published_at >= FLUSH_S:
            self.flush()

    def flush(self) -> None:
        """Publish what is waiting."""
        if self._waiting:
            tables = to_tables(
                self._waiting, config=self.config, model=self.model, describer=self.describer
            )
            self.folder.write_shard(tables)
            self._waiting = []
        self._published_at = time.monotonic()


@contextmanager
def shown_progress(progress: Progress, board: Any) -> Iterator[None]:
    """Draw the progress line once a second while the block runs."""
    stop = threading.Event()

    def watch() -> None:
        standing = Standing()
        while not stop.wait(REFRESH_S):
            standing = _read(board, standing)
            progress.show(standing)
        progress.close(_read(board, standing))

    thread = threading.Thread(target=watch, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _read(board: Any, last: Standing) -> Standing:
    try:
        standing: Standing = ray.get(board.read.remote(), timeout=10 * REFRESH_S)
    except ray.exceptions.RayError:
        # The line is a convenience: what cannot be read now shows next time.
        return last
    return standing


def make_chains(
    table: pa.Table,
    config: RunConfig,
    plan: ChainPlan,
    *,
    engine: ClientSpec,
    sandbox: SandboxPool,
    writer: ShardWriter,
    progress: Progress,
    describer: ClientSpec | None = None,
) -> None:
    """Run all open chains and publish them as they finish; on an interrupt, keep what is done."""
    board = Board.remote()  # type: ignore[attr-defined]
    try:
        with shown_progress(progress, board):
            for done in stream_chains(
                table,
                config,
                plan,
                engine=engine,
                describer=describer,
                sandbox=sandbox,
                board=board,
            ):
                chains = done.to_pylist()
                writer.add(chains)
                _count(progress, chains)
    finally:
        writer.flush()
        ray.kill(board)


def _count(progress: Progress, chains: list[dict[str, Any]]) -> None:
    for chain in chains:
        progress.finished.chains += 1
        progress.finished.add_scores(chain)
        progress.finished.stopped_early += chain["stop"]["reason"] in EARLY_STOPS
        progress.finished.requests += sum(
            part is not None and part["answer"] is not None
            for step in chain["steps"]
            for part in (step["summary"], step["generation"])
        ) + len(chain["resamples"])
