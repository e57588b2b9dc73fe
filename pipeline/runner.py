"""Turns rounds into a Ray Data plan. Only the runners know Ray Data.

Each round is one operator with one actor that only waits: for the engine, and for the sandbox
actors. Its rows are Ray tasks that run concurrently on one event loop, so chains at different
steps are in flight together and share the same replicas; there is no barrier between rounds.
The input lies in memory and the driver consumes the output, so no task but the rounds needs a CPU.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import ray
from ray.data import ActorPoolStrategy, DataContext
from ray.data.exceptions import ExecutionTimeoutError

from conf import RunConfig, UserError
from pipeline.answering import AnswerSource
from pipeline.board import count_resamples, count_step
from pipeline.desk import KeeperHandle, plain_user_error
from pipeline.plan import BLOCKS_IN_FLIGHT, ChainPlan
from pipeline.round import NOT_BEGUN, Round, suspend
from pipeline.schemas import IN_TRANSIT
from pipeline.stages import StageContext, last_stages, round_stages
from pipeline.tables import OpenChains, Problems
from sandbox.pool import SandboxPool

TELL_EVERY_S = 1.0


class RoundActor:
    """The Ray Data side of a round: opens the shared services, walks blocks, reports.

    The step after a chain's last is the round of chains that have ended.
    """

    def __init__(
        self,
        config: RunConfig,
        step: int,
        problems: Any,
        engine: AnswerSource,
        describer: AnswerSource | None,
        sandbox: SandboxPool,
        board: Any,
        gate: KeeperHandle,
    ) -> None:
        context = StageContext(
            config=config,
            step=step,
            engine=engine.open(f"round {step}"),
            sandbox=sandbox,
            describer=describer.open(f"round {step}") if describer else None,
        )
        self.step = step
        self.problems = Problems(ray.get(problems))
        self.board = board
        self.gate = gate
        self.watch: asyncio.Task[None] | None = None
        last = step > config.chain.length
        stages = last_stages(config.chain) if last else round_stages(step, config.chain)
        self.round = Round([make(context) for make in stages], afterwards=last)

    async def __call__(self, table: pa.Table) -> pa.Table:
        """Walk a block of chains through the round."""
        self.watch = self.watch or asyncio.create_task(self._tell_where())
        rows = self.problems.join(table) if self.step else self.problems.begin(table)
        if self.step == 0 and not await self.gate.admit([row["chain_id"] for row in rows]):
            for row in rows:
                suspend(row, NOT_BEGUN)
        rows = await self.round.walk(rows)
        counts = count_resamples(rows) if self.round.afterwards else count_step(rows, self.step)
        self.board.report.remote(self.step, *counts)
        return pa.Table.from_pylist(rows, schema=IN_TRANSIT)

    async def _tell_where(self) -> None:
        told: dict[str, int] = {}
        while True:
            now = {stage: chains for stage, chains in self.round.at.items() if chains}
            if now != told:
                self.board.occupy.remote(self.step, now)
                told = now
            await asyncio.sleep(TELL_EVERY_S)


def stream_chains(
    chains: OpenChains,
    config: RunConfig,
    plan: ChainPlan,
    *,
    engine: AnswerSource,
    describer: AnswerSource | None,
    sandbox: SandboxPool,
    board: Any,
    gate: KeeperHandle,
) -> Iterator[pa.Table]:
    """Run all rounds and yield chains that finished or were suspended, as they come out.

    The chains come as tables of schema IN_TRANSIT.

    Args:
        chains: the open ones.
        config: the run.
        plan: of the same run.
        engine: what answers.
        describer: what answers requests for descriptions, if it is another.
        sandbox: the shared sandbox actors.
        board: actor that counts progress.
        gate: says which chains the budget lets start.

    Raises:
        Stalled: nothing moved for ``stall_minutes``.
        UserError: the journal cannot be written.
    """
    set_context(stall_s=60 * config.stall_minutes)
    blocks = [
        chains.chains.slice(start, plan.rows_per_block)
        for start in range(0, chains.num_rows, plan.rows_per_block)
    ]
    problems = ray.put(chains.problems)
    # from_arrow would start a task on a CPU that the run has no more.
    data = ray.data.from_blocks(blocks)
    pool = ActorPoolStrategy(
        size=1,
        max_concurrent_calls_per_actor=BLOCKS_IN_FLIGHT,
        max_tasks_in_flight_per_actor=2 * BLOCKS_IN_FLIGHT,
    )
    for step in range(plan.length + 1 + bool(plan.afterwards)):
        data = data.map_batches(
            RoundActor,
            fn_constructor_args=(config, step, problems, engine, describer, sandbox, board, gate),
            batch_size=None,
            batch_format="pyarrow",
            compute=pool,
            num_cpus=config.cluster.stage_cpus,
        )
    try:
        yield from blocks_of(data)
    except ExecutionTimeoutError as error:
        raise Stalled from error
    except UserError as error:
        raise plain_user_error(error) from error


def blocks_of(data: ray.data.Dataset) -> Iterator[pa.Table]:
    """Run a plan and yield its blocks as they come out.

    ``iter_batches`` would also send an actor its statistics every few seconds, which have an entry
    for every block so far: in a long run the driver would do little else.
    """
    for bundle in data.iter_internal_ref_bundles():
        for block in bundle.blocks:
            yield ray.get(block.ref)


class Stalled(Exception):
    """No chain has finished a round for the configured time."""


def set_context(*, stall_s: float) -> None:
    """Keep Ray Data quiet; have it give up when nothing moves for so long."""
    context = DataContext.get_current()
    context.execution_no_progress_timeout_s = stall_s
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.raise_original_map_exception = True
    # A thread for each block would ask the kernel every second how much memory the process has.
    context.memory_usage_poll_interval_s = None
    # They would advise on memory that Ray does not meter here, one warning an operator.
    context.issue_detectors_config.detectors = []
