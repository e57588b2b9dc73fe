"""Turns the rounds of the trust job into a Ray Data plan; see ``pipeline/runner.py``.

A block is one problem. While the programs of one are being checked, others are being sampled.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import ray
from ray.data import ActorPoolStrategy
from ray.data.exceptions import ExecutionTimeoutError

from conf import RunConfig, UserError
from pipeline.answering import AnswerSource
from pipeline.desk import KeeperHandle, plain_user_error
from pipeline.plan import BLOCKS_IN_FLIGHT
from pipeline.round import NOT_BEGUN, Round, suspend
from pipeline.runner import Stalled, blocks_of, set_context
from pipeline.stages import Stage, StageContext
from pipeline.trust.plan import TrustPlan
from pipeline.trust.schemas import TRUST_ROW
from pipeline.trust.stages import count_requests
from sandbox.pool import SandboxPool
from serve.messages import Answer, Prompt, Sampling

CHECKED_AT_ONCE = 4
"""Problems whose programs one checker has at the sandbox: their jobs fill each other's gaps."""


class NoEngine:
    """Stands where a run of stored samples has no engine."""

    async def generate(self, request_id: str, prompt: Prompt, sampling: Sampling) -> Answer:  # noqa: ARG002
        """Refuse.

        Raises:
            RuntimeError: always; a stage that asks has no place in such a run.
        """
        raise RuntimeError(f"request {request_id!r} in a run that has no engine")


class TrustActor:
    """The Ray Data side of a round: opens the shared services, walks blocks, reports."""

    def __init__(
        self,
        config: RunConfig,
        number: int,
        stages: tuple[type[Stage], ...],
        engine: AnswerSource | None,
        sandbox: SandboxPool,
        board: Any,
        gate: KeeperHandle,
    ) -> None:
        client = engine.open(f"round {number}") if engine else NoEngine()
        context = StageContext(config=config, step=0, engine=client, sandbox=sandbox)
        self.number = number
        self.board = board
        self.gate = gate
        self.round = Round([make(context) for make in stages])

    async def __call__(self, table: pa.Table) -> pa.Table:
        """Walk a block of problems through the round."""
        rows = table.to_pylist()
        if self.number == 0 and not await self.gate.admit([row["problem_id"] for row in rows]):
            for row in rows:
                suspend(row, NOT_BEGUN)
        rows = await self.round.walk(rows)
        made = count_requests(rows) if self.number == 0 else (0, 0)
        self.board.report.remote(self.number, len(rows), *made)
        return pa.Table.from_pylist(rows, schema=TRUST_ROW)


def stream_problems(
    table: pa.Table,
    config: RunConfig,
    plan: TrustPlan,
    *,
    engine: AnswerSource | None,
    sandbox: SandboxPool,
    board: Any,
    gate: KeeperHandle,
) -> Iterator[pa.Table]:
    """Run all rounds and yield problems that finished or were suspended, as they come out.

    Args:
        table: problems to be made, schema TRUST_ROW.
        config: the run.
        plan: of the same run.
        engine: what answers; none if the samples are stored.
        sandbox: the shared sandbox actors.
        board: actor that counts progress.
        gate: says which problems the budget lets start.

    Raises:
        Stalled: nothing moved for ``stall_minutes``.
        UserError: the journal cannot be written.
    """
    set_context(stall_s=60 * config.stall_minutes)
    data = ray.data.from_blocks([table.slice(row, 1) for row in range(table.num_rows)])
    for number, stages in enumerate(plan.rounds):
        checks = number == plan.length
        at_once = CHECKED_AT_ONCE if checks else BLOCKS_IN_FLIGHT
        data = data.map_batches(
            TrustActor,
            fn_constructor_args=(config, number, stages, engine, sandbox, board, gate),
            batch_size=None,
            batch_format="pyarrow",
            compute=ActorPoolStrategy(
                size=plan.checkers if checks else 1,
                max_concurrent_calls_per_actor=at_once,
                max_tasks_in_flight_per_actor=2 * at_once,
            ),
            num_cpus=config.cluster.stage_cpus,
        )
    try:
        yield from blocks_of(data)
    except ExecutionTimeoutError as error:
        raise Stalled from error
    except UserError as error:
        raise plain_user_error(error) from error
