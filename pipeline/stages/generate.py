"""Text to program."""

from pipeline.extraction import extract
from pipeline.records import Generation
from pipeline.roles import GENERATE, answer_proper, make_book, make_sampling
from pipeline.schemas import CHAIN_ROW
from pipeline.stages.asking import ask, request_seed, sample_index
from pipeline.stages.base import Row, Stage, StageContext, columns
from pipeline.state import entry_name, shown_header
from pipeline.stopping import allowed_closure, failure_stop, make_stop


class Generate(Stage):
    """Write the step's program from the problem (step 0) or from the model's own description."""

    name = "Generate"
    uses = "engine"
    reads = columns(
        CHAIN_ROW,
        *("chain_id", "sample", "prompt", "preamble", "signature", "entry_point"),
        *("summary", "steps"),
    )
    writes = columns(CHAIN_ROW, "generation", "stop")

    def __init__(self, context: StageContext) -> None:
        super().__init__(context)
        self.prompts = make_book(self.config, GENERATE)

    async def process(self, row: Row) -> Row:
        """Ask for a program, unless this very prompt has been answered before in the chain."""
        name = entry_name(row["entry_point"], self.step)
        header = shown_header(
            prompt=row["prompt"],
            preamble=row["preamble"],
            signature=row["signature"],
            entry_point=row["entry_point"],
            step=self.step,
            nl=row["summary"]["nl"] if self.step else None,
        )
        prompt = self.prompts.generate(header, name)
        made = [(s["index"], s["generation"]["answer"]) for s in row["steps"]]
        sent = [(step, answer["prompt_key"]) for step, answer in made if answer]
        closure = allowed_closure(self.config, row["chain_id"], sent, prompt.key(), self.step)
        if closure is not None:
            return {
                "generation": None,
                "stop": make_stop(closure.reason, self.step, closure=closure),
            }
        request_id = f"{row['chain_id']}/{self.step}/generate"
        seed = request_seed(self.config.seed, request_id)
        sample = sample_index(row["sample"], sent, prompt.key())
        sampling = make_sampling(self.config, GENERATE, seed=seed, sample=sample)
        record = await ask(self.engine, request_id, prompt, sampling)
        text = answer_proper(record["text"] or "", self.prompts.model)
        found = extract(text, name, header=header)
        taken = Generation(answer=record, pl=found.program, extraction=str(found.kind))
        return {"generation": taken, "stop": failure_stop(record, taken["pl"], step=self.step)}
