"""Program to text."""

from pipeline.extraction import extract_description
from pipeline.masking import MASK
from pipeline.prompts import PromptBook
from pipeline.records import Summary
from pipeline.schemas import CHAIN_ROW
from pipeline.stages.asking import ask, make_sampling, request_seed
from pipeline.stages.base import Row, Stage, StageContext, columns
from pipeline.state import shown_program
from pipeline.stopping import failure_stop
from serve.messages import Sampling


class Summarize(Stage):
    """Describe the program of the step before, in the model's own words."""

    name = "Summarize"
    uses = "engine"
    reads = columns(CHAIN_ROW, "chain_id", "entry_point", "steps")
    writes = columns(CHAIN_ROW, "summary", "stop")

    def __init__(self, context: StageContext) -> None:
        super().__init__(context)
        self.prompts = PromptBook(self.config.prompt)

    async def process(self, row: Row) -> Row:
        """Ask for a description of the last program."""
        last = row["steps"][-1]
        shown = shown_program(
            last["generation"]["pl"], entry_point=row["entry_point"], step=last["index"]
        )
        prompt = self.prompts.summarize(shown, MASK)
        request_id = f"{row['chain_id']}/{self.step}/summarize"
        record = await ask(self.engine, request_id, prompt, self._sampling(request_id))
        made = Summary(answer=record, nl=extract_description(record["text"] or ""))
        return {"summary": made, "stop": failure_stop(made, made["nl"], step=self.step)}

    def _sampling(self, request_id: str) -> Sampling:
        config = self.config.chain.sampling
        return make_sampling(
            config,
            max_tokens=config.summarize_max_tokens,
            stop=self.config.prompt.summarize_stop,
            seed=request_seed(self.config.seed, request_id),
        )
