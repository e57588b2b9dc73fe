"""The chain job, assembled: problems in, a run folder out."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import ray

from conf import RunConfig
from pipeline.answerer import Answerer
from pipeline.board import Board, Standing
from pipeline.desk import KeeperHandle
from pipeline.plan import ChainPlan
from pipeline.progress import Progress
from pipeline.round import CUT_OFF, is_suspended
from pipeline.runfolder import RunFolder
from pipeline.runner import Stalled, stream_chains
from pipeline.status import Standstill, StandstillError
from pipeline.tables import OpenChains, to_tables
from sandbox.pool import SandboxPool
from serve import replica_states

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
def every_second(act: Callable[[], None]) -> Iterator[None]:
    """Do something once a second, in a thread of its own, while the block runs."""
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(REFRESH_S):
            act()

    thread = threading.Thread(target=watch, name="watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@dataclass(frozen=True)
class Stopped:
    """Why a start left chains open, and how many."""

    reason: str
    not_begun: int
    cut_off: int


class Watch:
    """Draws the progress line from what the board says."""

    def __init__(self, progress: Progress, board: Any) -> None:
        self.standing = Standing()
        self._progress = progress
        self._board = board

    def look(self) -> None:
        """Look once."""
        self.read()
        self._progress.show(self.standing)

    def read(self) -> None:
        """Read the board."""
        try:
            self.standing = ray.get(self._board.read.remote(), timeout=10 * REFRESH_S)
        except ray.exceptions.RayError:
            # The line is a convenience: what cannot be read now shows next time.
            return


def make_chains(
    open_chains: OpenChains,
    config: RunConfig,
    plan: ChainPlan,
    *,
    engine: Answerer,
    keeper: KeeperHandle,
    sandbox: SandboxPool,
    writer: ShardWriter,
    progress: Progress,
    describer: Answerer | None = None,
) -> Stopped | None:
    """Run all open chains and publish them as they finish; on an interrupt, keep what is done.

    Returns:
        Why chains were left open and how many; null if none was.

    Raises:
        StandstillError: nothing moved for ``stall_minutes``.
        UserError: the disk is full.
    """
    board = Board.remote()  # type: ignore[attr-defined]
    watch = Watch(progress, board)
    not_begun = cut_off = 0
    try:
        with every_second(watch.look):
            for done in stream_chains(
                open_chains,
                config,
                plan,
                engine=engine.source,
                describer=describer.source if describer else None,
                sandbox=sandbox,
                board=board,
                gate=keeper,
            ):
                left = done.to_pylist()
                keeper.leave({chain["chain_id"]: _cost(chain) for chain in left})
                chains = [chain for chain in left if not is_suspended(chain)]
                begun = sum(chain["stop"]["message"] == CUT_OFF for chain in left)
                cut_off += begun
                not_begun += len(left) - len(chains) - begun
                writer.add(chains)
                _count(progress, chains)
    except Stalled:
        watch.read()
        left_open = plan.chains - progress.finished.chains - not_begun - cut_off
        answerers = {"engine": engine, "describer": describer}
        raise StandstillError(standstill(config, watch.standing, left_open, answerers)) from None
    finally:
        writer.flush()
        watch.read()
        progress.close(watch.standing)
        ray.kill(board)
    if not (not_begun or cut_off):
        return None
    return Stopped(spent_reason(config, keeper), not_begun=not_begun, cut_off=cut_off)


def standstill(
    config: RunConfig,
    standing: Standing,
    open_rows: int,
    answerers: Mapping[str, Answerer | None],
) -> Standstill:
    """Return where the rows of a run that stands still are, and how its engines are.

    Args:
        config: the run.
        standing: what the board said last.
        open_rows: rows that have not come out.
        answerers: what answers, by its role; null where the run has none for a role.
    """
    return Standstill(
        minutes=config.stall_minutes,
        open_rows=open_rows,
        stages=standing.places(),
        replicas={
            role: replica_states(each.spec) if each.spec else {}
            for role, each in answerers.items()
            if each
        },
    )


def spent_reason(config: RunConfig, keeper: KeeperHandle) -> str:
    """Return which budget is spent."""
    budget, spent = config.budget, keeper.tally().tokens
    limits = [
        f"budget.{key}={value}"
        for key, value in (("tokens", budget.tokens), ("minutes", budget.minutes))
        if value is not None
    ]
    return f"{' and '.join(limits)} allowed no more; {spent} tokens are paid for so far"


def _cost(chain: dict[str, Any]) -> int | None:
    """Return the tokens of a chain that has ended; null if it was suspended."""
    if is_suspended(chain):
        return None
    return sum(
        (answer["prompt_tokens"] or 0) + (answer["completion_tokens"] or 0)
        for answer in _answers(chain)
    )


def _answers(chain: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for step in chain["steps"]:
        for part in (step["summary"], step["generation"]):
            if part is not None and part["answer"] is not None:
                yield part["answer"]


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
