"""Program to outcomes."""

from pipeline.jobs import build_job, compare_executions, record_execution
from pipeline.records import StopReason
from pipeline.schemas import CHAIN_ROW
from pipeline.stages.base import Row, Stage, columns
from pipeline.state import entry_name
from pipeline.stopping import make_stop


class Execute(Stage):
    """Run the step's program on the problem's tests and compare with the step before."""

    name = "Execute"
    uses = "sandbox"
    reads = columns(
        CHAIN_ROW,
        *("chain_id", "preamble", "entry_point", "tests", "generation", "steps"),
    )
    writes = columns(CHAIN_ROW, "execution", "stop")

    async def process(self, row: Row) -> Row:
        """Judge the program in a sandbox."""
        job = build_job(
            f"{row['chain_id']}/{self.step}",
            program=row["generation"]["pl"],
            preamble=row["preamble"],
            entry_point=row["entry_point"],
            called=entry_name(row["entry_point"], self.step),
            tests=row["tests"],
            config=self.config.sandbox,
            seed=self.config.seed,
        )
        execution = record_execution(await self.sandbox.run(job), row["tests"])
        stop = None
        if execution["verdict"] == "harness":
            stop = make_stop(StopReason.HARNESS, self.step, message=execution["load_message"])
        elif row["steps"]:
            before = row["steps"][-1]["execution"]
            compare_executions(before, execution, row["tests"], entry_point=row["entry_point"])
        return {"execution": execution, "stop": stop}
