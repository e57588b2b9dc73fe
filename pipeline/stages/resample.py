"""More programs from the description at which a chain broke."""

import asyncio

from pipeline.blaming import Break, first_break, judge_resample
from pipeline.extraction import extract
from pipeline.jobs import build_job, compare_executions, record_execution
from pipeline.masking import MASK
from pipeline.records import Execution, Generation, Resample
from pipeline.roles import GENERATE, answer_proper, make_book, make_resampling
from pipeline.schemas import CHAIN_ROW
from pipeline.stages.asking import ask, request_seed
from pipeline.stages.base import Row, Stage, StageContext, columns
from pipeline.state import shown_header


class SampleAgain(Stage):
    """Write a broken chain's program a few times more and compare with the program described."""

    name = "Sample again"
    uses = "engine"
    takes_stopped = True
    reads = columns(
        CHAIN_ROW,
        *("chain_id", "prompt", "preamble", "signature", "entry_point", "tests", "steps", "stop"),
    )
    writes = columns(CHAIN_ROW, "resamples")

    def __init__(self, context: StageContext) -> None:
        super().__init__(context)
        self.prompts = make_book(self.config, GENERATE)

    async def process(self, row: Row) -> Row:
        """Sample at the chain's first break, if it has one and the model described anything."""
        found = first_break(row["steps"], row["stop"], self.config.chain.length)
        summary = row["steps"][found.to_step]["summary"] if found else None
        if found is None or summary is None or summary["nl"] is None:
            return {"resamples": []}
        header = shown_header(
            prompt=row["prompt"],
            preamble=row["preamble"],
            signature=row["signature"],
            entry_point=row["entry_point"],
            step=found.to_step,
            nl=summary["nl"],
        )
        indices = range(self.config.chain.blame)
        return {
            "resamples": await asyncio.gather(
                *(self._sample(row, found, header, i) for i in indices)
            )
        }

    async def _sample(self, row: Row, found: Break, header: str, index: int) -> Resample:
        request_id = f"{row['chain_id']}/{found.to_step}/blame-{index}"
        sampling = make_resampling(self.config, seed=request_seed(self.config.seed, request_id))
        record = await ask(self.engine, request_id, self.prompts.generate(header, MASK), sampling)
        text = answer_proper(record["text"] or "", self.prompts.model)
        taken = extract(text, MASK, header=header)
        generation = Generation(answer=record, pl=taken.program, extraction=str(taken.kind))
        execution = await self._run(row, found, request_id, taken.program)
        return Resample(
            index=index,
            from_step=found.from_step,
            to_step=found.to_step,
            generation=generation,
            execution=execution,
            finding=judge_resample(generation, execution).value,
        )

    async def _run(
        self, row: Row, found: Break, job_id: str, program: str | None
    ) -> Execution | None:
        """Run a program as the chain's own, and compare it with the program described."""
        if program is None:
            return None
        job = build_job(
            job_id,
            program=program,
            preamble=row["preamble"],
            entry_point=row["entry_point"],
            called=MASK,
            tests=row["tests"],
            config=self.config.sandbox,
            seed=self.config.seed,
        )
        execution = record_execution(await self.sandbox.run(job), row["tests"])
        before = row["steps"][found.from_step]["execution"]
        if execution["verdict"] != "harness":
            compare_executions(before, execution, row["tests"], entry_point=row["entry_point"])
        return execution
