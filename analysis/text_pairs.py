"""The texts that text metrics compare: what the model was shown before and what it then wrote."""

from collections.abc import Iterable

import polars as pl

from analysis.recorded import RecordedChain
from analysis.reference import MASK
from analysis.tables import RunTables
from analysis.text_metrics import PAIRS
from analysis.unroll import unroll

FIRST = pl.Schema({"problem_id": pl.String, "sample": pl.Int32, "nl": pl.String, "pl": pl.String})


def recorded_pairs(chains: Iterable[RecordedChain], step: int = 1) -> pl.DataFrame:
    """Return the texts of a recorded transition, prepared as the release prepares them.

    A description is the recorded text with its quotes; that of step 0 is the problem without its
    signature and with every occurrence of the function's name masked. A program is the recorded
    body. Chains that did not run to ``step`` are left out.

    Args:
        chains: recorded chains.
        step: the later step, at least 1.

    Returns:
        Schema ``PAIRS``.
    """
    rows = []
    for chain in chains:
        made = chain.steps[: step + 1]
        if len(made) <= step or any(each.results is None for each in made):
            continue
        before, after = made[step - 1], made[step]
        shown = _masked_problem(chain) if step == 1 else before.nl
        rows.append((chain.problem_id, 0, shown, after.nl, before.pl, after.pl))
    return pl.DataFrame(rows, schema=PAIRS, orient="row")


def run_pairs(tables: RunTables, first: pl.DataFrame, step: int = 1) -> pl.DataFrame:
    """Return the texts of a run's transition, one row a chain.

    Args:
        tables: the run.
        first: schema ``FIRST``: of each chain the problem's description and program 0, masked, as
            the model is shown them; a run stores both with the function's real name.
        step: the later step, at least 1.

    Returns:
        Schema ``PAIRS``; null where a chain has no such text.
    """
    keys = ["problem_id", "sample"]
    later = tables.steps.filter(pl.col("step") > 0).select(*keys, "step", "nl", "pl")
    start = first.lazy().select(*keys, pl.lit(0, pl.Int32).alias("step"), "nl", "pl")
    texts = pl.concat([start, later])
    sources = (
        unroll(tables, step).filter(pl.col("step") >= step - 1).select(*keys, "step", "source")
    )
    programs = sources.join(texts.select(*keys, "pl", source="step"), [*keys, "source"], how="left")
    both = programs.join(texts.select(*keys, "step", "nl"), [*keys, "step"], how="left")

    def of(text: str, at: int) -> pl.Expr:
        return pl.col(text).filter(pl.col("step") == at).first()

    return (
        both.group_by(keys)
        .agg(
            nl_reference=of("nl", step - 1),
            nl_prediction=of("nl", step),
            pl_reference=of("pl", step - 1),
            pl_prediction=of("pl", step),
        )
        .sort(keys)
        .select(PAIRS.names())
        .collect()
    )


def _masked_problem(chain: RecordedChain) -> str:
    # Inside of words too, on purpose: so the release masked the later texts of the record, and
    # the two that are compared must be masked alike.
    text = chain.steps[0].nl.replace(chain.function_signature, "")
    return text.replace(chain.function_name, MASK)
