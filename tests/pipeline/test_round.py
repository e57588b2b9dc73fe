import asyncio

import pyarrow as pa
import pytest

from conf import ChainConfig
from pipeline.round import Round, StageContractError, check_stages, run_stage
from pipeline.schemas import CHAIN_ROW
from pipeline.stages import round_stages
from pipeline.stages.base import Stage

NUMBERS = pa.schema([("n", pa.int64()), ("stop", pa.int64())])


class Double(Stage):
    name = "Double"
    reads = pa.schema([NUMBERS.field("n")])
    writes = pa.schema([NUMBERS.field("n")])

    def __init__(self):
        self.seen = []

    async def process(self, row):
        self.seen.append(row)
        return {"n": row["n"] * 2}


class StopAtFour(Stage):
    name = "StopAtFour"
    reads = pa.schema([NUMBERS.field("n")])
    writes = pa.schema([NUMBERS.field("stop")])

    def __init__(self):
        pass

    async def process(self, row):
        return {"stop": 1 if row["n"] == 4 else None}


class AddOneAlways(Double):
    takes_stopped = True

    async def process(self, row):
        return {"n": row["n"] + 1}


def test_the_rounds_of_a_chain_fit_together():
    check_stages(
        [stage for step in range(3) for stage in round_stages(step, ChainConfig())], CHAIN_ROW
    )


def test_a_column_that_nobody_provides_is_named_with_its_stage():
    with pytest.raises(StageContractError, match=r"Double reads \['n'\]"):
        check_stages([Double], pa.schema([("m", pa.int64())]))


async def test_a_stage_sees_only_what_it_declares():
    stage = Double()
    await run_stage(stage, {"n": 1, "secret": 2})
    assert stage.seen == [{"n": 1}]


async def test_a_stage_that_returns_something_undeclared_is_a_bug():
    class Careless(Double):
        async def process(self, row):
            return {"n": 1, "m": 2}

    with pytest.raises(StageContractError, match=r"Double returned"):
        await run_stage(Careless(), {"n": 1})


async def test_a_stopped_row_passes_untouched():
    stage = Double()
    assert await Round([stage]).walk([{"n": 3, "stop": 7}]) == [{"n": 3, "stop": 7}]
    assert stage.seen == []


async def test_a_row_that_stops_half_way_meets_only_stages_that_take_it():
    walked = await Round([StopAtFour(), Double(), AddOneAlways()]).walk(
        [{"n": 4, "stop": None}, {"n": 5, "stop": None}]
    )
    assert [row["n"] for row in walked] == [5, 11]


async def test_a_row_does_not_wait_for_the_others_between_stages():
    released = asyncio.Event()

    class First(Double):
        async def process(self, row):
            if row["n"] == 1:
                await released.wait()
            return {"n": row["n"]}

    class Second(Double):
        async def process(self, row):
            if row["n"] == 2:
                released.set()
            return {"n": row["n"]}

    rows = [{"n": 1, "stop": None}, {"n": 2, "stop": None}]
    assert [row["n"] for row in await Round([First(), Second()]).walk(rows)] == [1, 2]
