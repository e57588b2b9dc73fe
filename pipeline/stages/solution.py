"""The start of a chain that begins with code."""

from pipeline.extraction import ExtractionKind
from pipeline.records import Generation
from pipeline.schemas import CHAIN_ROW
from pipeline.stages.base import Row, Stage, columns


class TakeSolution(Stage):
    """Take the data set's own solution for program 0, without asking anyone."""

    name = "Take solution"
    reads = columns(CHAIN_ROW, "canonical_solution")
    writes = columns(CHAIN_ROW, "generation")

    async def process(self, row: Row) -> Row:
        """Return the solution as if a model had written it."""
        solution = row["canonical_solution"]
        if solution is None:
            raise ValueError("a chain that starts from code was opened without a solution")
        given = Generation(answer=None, pl=solution, extraction=str(ExtractionKind.GIVEN))
        return {"generation": given}
