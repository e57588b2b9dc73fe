"""One round of the chain: its stages in a row, many chains in flight. Knows nothing of Ray.

A block of chains enters, each chain walks the round's stages by itself, and the block leaves when
its last chain is done: nothing waits longer than the round. Rows that have stopped pass untouched,
and so do rows that are suspended, which the driver keeps open.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence

import pyarrow as pa

from pipeline.records import StopReason
from pipeline.stages.base import Row, Stage, Suspended
from pipeline.stopping import make_stop

CUT_OFF, NOT_BEGUN = "cut off", "not begun"


class StageContractError(Exception):
    """A stage returned other columns than it declares, or reads one that nobody writes: a bug."""


def check_stages(stages: Iterable[type[Stage]], available: pa.Schema) -> None:
    """Check that every column a stage reads exists by then, with the same type.

    Args:
        stages: in the order in which they run.
        available: the columns of the rows that come in.

    Raises:
        StageContractError: naming the stage and all columns that are missing or differ.
    """
    known = {field.name: field.type for field in available}
    for stage in stages:
        wrong = [field.name for field in stage.reads if known.get(field.name) != field.type]
        if wrong:
            raise StageContractError(f"stage {stage.name} reads {wrong}, which nothing provides")
        known.update({field.name: field.type for field in stage.writes})


class Round:
    """Walks chains through the stages of one step.

    Args:
        stages: in the order in which they run.
        afterwards: walk the chains that have stopped, and those only, instead of the open ones.
    """

    def __init__(self, stages: Sequence[Stage], *, afterwards: bool = False) -> None:
        self.stages = stages
        self.afterwards = afterwards
        self.at: Counter[str] = Counter()
        """How many chains are in each stage now, by the stage's name."""

    async def walk(self, rows: Iterable[Row]) -> list[Row]:
        """Return the same chains, one step further, in the same order."""
        return await asyncio.gather(*(self._walk(row) for row in rows))

    async def _walk(self, row: Row) -> Row:
        if _has_stopped(row) is not self.afterwards or is_suspended(row):
            return row
        try:
            for stage in self.stages:
                if stage.takes_stopped or not _has_stopped(row):
                    row.update(await self._run(stage, row))
        except Suspended:
            suspend(row, CUT_OFF)
        return row

    async def _run(self, stage: Stage, row: Row) -> Row:
        self.at[stage.name] += 1
        try:
            return await run_stage(stage, row)
        finally:
            self.at[stage.name] -= 1


def suspend(row: Row, why: str) -> None:
    """Have a chain leave the rounds without having ended: it was cut off, or not begun."""
    row["stop"] = make_stop(StopReason.SUSPENDED, len(row.get("steps", ())), message=why)


def is_suspended(row: Row) -> bool:
    """Tell whether a chain has left the rounds without having ended."""
    return row["stop"] is not None and row["stop"]["reason"] == StopReason.SUSPENDED


def _has_stopped(row: Row) -> bool:
    return row["stop"] is not None


async def run_stage(stage: Stage, row: Row) -> Row:
    """Run a stage on the columns it declares.

    Raises:
        StageContractError: the stage returned other columns than it declares.
    """
    made = await stage.process({name: row[name] for name in stage.reads.names})
    if set(made) != set(stage.writes.names):
        raise StageContractError(
            f"stage {stage.name} returned {sorted(made)}, it declares {sorted(stage.writes.names)}"
        )
    return made
