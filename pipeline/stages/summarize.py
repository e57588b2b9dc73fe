"""Program to text."""

from pipeline.extraction import extract_description
from pipeline.masking import MASK
from pipeline.records import Summary
from pipeline.roles import SUMMARIZE, answer_proper, make_book, make_sampling
from pipeline.schemas import CHAIN_ROW
from pipeline.stages.asking import ask, request_seed, sample_index
from pipeline.stages.base import Row, Stage, StageContext, columns
from pipeline.state import shown_program
from pipeline.stopping import failure_stop


class Summarize(Stage):
    """Describe the program of the step before, in the model's own words."""

    name = "Summarize"
    uses = "engine"
    reads = columns(CHAIN_ROW, "chain_id", "sample", "entry_point", "steps")
    writes = columns(CHAIN_ROW, "summary", "stop")

    def __init__(self, context: StageContext) -> None:
        super().__init__(context)
        self.prompts = make_book(self.config, SUMMARIZE)

    async def process(self, row: Row) -> Row:
        """Ask for a description of the last program."""
        last = row["steps"][-1]
        shown = shown_program(
            last["generation"]["pl"], entry_point=row["entry_point"], step=last["index"]
        )
        prompt = self.prompts.summarize(shown, MASK)
        request_id = f"{row['chain_id']}/{self.step}/summarize"
        seed = request_seed(self.config.seed, request_id)
        sent = [(s["index"], s["summary"]["answer"]["prompt_key"]) for s in row["steps"][1:]]
        sample = sample_index(row["sample"], sent, prompt.key())
        sampling = make_sampling(self.config, SUMMARIZE, seed=seed, sample=sample)
        record = await ask(self.describer, request_id, prompt, sampling)
        text = answer_proper(record["text"] or "", self.prompts.model)
        made = Summary(answer=record, nl=extract_description(text))
        return {"summary": made, "stop": failure_stop(record, made["nl"], step=self.step)}
