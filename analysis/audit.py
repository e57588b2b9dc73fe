"""Whether chains that repeated themselves went on to do so: the proof of early stop.

Early stop claims that an answer is a function of its prompt, and a program's outcomes of its
text. Of a run with ``chain.audit`` some chains were not stopped when a prompt came back. In those,
both claims can be checked against what happened.
"""

from dataclasses import dataclass
from typing import Any

import polars as pl
from rich.text import Text

from analysis.tables import RunTables

SHOWN = 5


@dataclass(frozen=True, slots=True)
class Audit:
    """What the chains that were run on showed."""

    chains: int
    """Chains in which a prompt came back and the run went on."""
    answers: int
    """Requests whose prompt had been sent before in their chain."""
    programs: int
    """Programs that had been run before in their chain, from step 1 on."""
    contradictions: tuple[tuple[str, int, str], ...]
    """Chain, step, and what differed there: ``summarize``, ``generate`` or ``outcomes``."""

    def to_json(self) -> dict[str, Any]:
        """Return the audit as JSON values."""
        return {
            "chains": self.chains,
            "answers": self.answers,
            "programs": self.programs,
            "contradictions": [
                {"chain_id": chain, "step": step, "what": what}
                for chain, step, what in self.contradictions
            ],
        }


def audit_run(tables: RunTables) -> Audit:
    """Check a greedy run's repetitions.

    Args:
        tables: the run; at a temperature above 0 equal prompts need not have equal answers.
    """
    answers, programs = pl.collect_all([_repeated_answers(tables), _repeated_programs(tables)])
    wrong = pl.concat([answers, programs]).filter(~pl.col("same"))
    return Audit(
        chains=answers["chain_id"].n_unique(),
        answers=answers.height,
        programs=programs.height,
        contradictions=tuple(
            wrong.sort("chain_id", "step", "what").select("chain_id", "step", "what").iter_rows()
        ),
    )


def render_audit(audit: Audit) -> Text:
    """Return the audit for the terminal."""
    text = Text("\nAudit of early stop: ", style="bold")
    text.append(
        f"{audit.chains} chains repeated a prompt and were run on; {audit.answers} answers and "
        f"{audit.programs} programs came again, {len(audit.contradictions)} of them differently.",
        style="",
    )
    for chain, step, what in audit.contradictions[:SHOWN]:
        text.append(f"\n  {chain}, step {step}: another {what}")
    if len(audit.contradictions) > SHOWN:
        text.append(f"\n  and {len(audit.contradictions) - SHOWN} more, in metrics.json")
    return text


def _repeated_answers(tables: RunTables) -> pl.LazyFrame:
    prompt = ("chain_id", "role", "prompt_key")
    first = pl.col("text").first().over(prompt, order_by="step")
    return (
        tables.completions.filter(pl.col("text").is_not_null())
        .with_columns(same=pl.col("text") == first)
        .filter(pl.col("step") > pl.col("step").min().over(prompt))
        .select("chain_id", "step", pl.col("role").alias("what"), "same")
    )


def _repeated_programs(tables: RunTables) -> pl.LazyFrame:
    """Step 0 is left out: there the function has another name."""
    outcomes = tables.outcomes.group_by("chain_id", "step").agg(
        seen=pl.struct("test_id", "kind", "encoding").sort_by("test_id")
    )
    program = ("chain_id", "pl")
    return (
        tables.steps.filter((pl.col("step") > 0) & pl.col("verdict").is_not_null())
        .select("chain_id", "step", "pl")
        .join(outcomes, ["chain_id", "step"])
        .with_columns(same=pl.col("seen") == pl.col("seen").first().over(program, order_by="step"))
        .filter(pl.col("step") > pl.col("step").min().over(program))
        .select("chain_id", "step", pl.lit("outcomes").alias("what"), "same")
    )
