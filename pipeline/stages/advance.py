"""The end of a round: keep the step, and decide whether there is a next one."""

from pipeline.jobs import compare_executions
from pipeline.masking import MASK
from pipeline.records import Execution, Outcome, Step, Stop, StopReason
from pipeline.roles import SUMMARIZE, make_book
from pipeline.schemas import CHAIN_ROW
from pipeline.stages.base import Row, Stage, StageContext, columns
from pipeline.state import shown_program
from pipeline.stopping import Closure, allowed_closure, cut_off, make_stop, mismatched


class Advance(Stage):
    """Fold the round's results into ``steps`` and apply the stop rules."""

    name = "Stop?"
    takes_stopped = True
    reads = columns(
        CHAIN_ROW,
        *(
            "chain_id",
            "entry_point",
            "tests",
            "summary",
            "generation",
            "execution",
            "steps",
            "stop",
        ),
    )
    writes = columns(CHAIN_ROW, "summary", "generation", "execution", "steps", "stop")

    def __init__(self, context: StageContext) -> None:
        super().__init__(context)
        self.prompts = make_book(self.config, SUMMARIZE)

    async def process(self, row: Row) -> Row:
        """Append the step that was made; a chain that stopped half way keeps what it has."""
        step = Step(
            index=self.step,
            summary=row["summary"],
            generation=row["generation"],
            execution=row["execution"],
        )
        steps = [*row["steps"], step]
        stop = row["stop"] or self._decide(row, steps)
        if stop is not None and (stop["cycle_length"] or 1) > 1:
            stop = self._close(stop, row, steps)
        return {
            "summary": None,
            "generation": None,
            "execution": None,
            "steps": steps,
            "stop": stop,
        }

    def _decide(self, row: Row, steps: list[Step]) -> Stop | None:
        if cut_off(row["generation"], row["execution"]):
            return make_stop(
                StopReason.TRUNCATED, self.step, message="the token limit left half a program"
            )
        closure = self._next_closure(row, steps)
        if closure is not None:
            return make_stop(closure.reason, self.step, closure=closure)
        if StopReason.DECIDED in self.config.chain.stop and mismatched(_outcomes(steps[-1])):
            return make_stop(StopReason.DECIDED, self.step)
        if self.step == self.config.chain.length:
            return make_stop(StopReason.LENGTH, self.step)
        return None

    def _next_closure(self, row: Row, steps: list[Step]) -> Closure | None:
        generation = steps[-1]["generation"]
        if generation is None or generation["pl"] is None:
            return None
        shown = shown_program(generation["pl"], entry_point=row["entry_point"], step=self.step)
        key = self.prompts.summarize(shown, MASK).key()
        sent = [(s["index"], s["summary"]["answer"]["prompt_key"]) for s in steps if s["summary"]]
        return allowed_closure(self.config, row["chain_id"], sent, key, self.step + 1)

    def _close(self, stop: Stop, row: Row, steps: list[Step]) -> Stop:
        """Compare the last step of a cycle with its first, which comes after it for ever."""
        start, length = stop["cycle_start"], stop["cycle_length"]
        assert start is not None
        assert length is not None
        first = steps[start]["execution"]
        last = steps[start + length - 1]["execution"]
        assert first is not None
        assert last is not None
        again = Execution(**{**first, "outcomes": [{**o} for o in first["outcomes"]]})
        compare_executions(last, again, row["tests"], entry_point=row["entry_point"])
        matches = [o["matches_previous"] for o in again["outcomes"]]
        return {
            **stop,
            "closing_comparable": sum(m is not None for m in matches),
            "closing_matching": sum(m is True for m in matches),
        }


def _outcomes(step: Step) -> list[Outcome]:
    return step["execution"]["outcomes"] if step["execution"] else []
