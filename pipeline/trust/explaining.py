"""The specs that are shown with each answer, in values that people can read."""

import polars as pl

from analysis.trust.explain import EXPLANATIONS, explain
from analysis.trust.tables import TrustTables
from pipeline.display import show_value

VALUE_WIDTH = 200
SHOWN = pl.Schema(
    dict(EXPLANATIONS)
    | {"examples": pl.List(pl.Struct({"args": pl.String(), "value": pl.String()}))}
)
"""``EXPLANATIONS`` with the outputs of examples as Python would write them."""


def explain_answers(
    tables: TrustTables, scored: pl.DataFrame, answers: pl.DataFrame, *, most: int
) -> pl.DataFrame:
    """Return the specs to show with the program that is answered, best first in each problem.

    Args:
        tables: the matrix.
        scored: one row a sample, with the ``score`` that chose.
        answers: one row a problem; declined ones are not explained.
        most: specs a problem.

    Returns:
        Schema ``SHOWN``.
    """
    given = answers.filter("answered").select("problem_id")
    found = explain(tables, scored.join(given, on="problem_id", how="semi"), most=most)
    rows = [{**row, "examples": _values(row["examples"])} for row in found.iter_rows(named=True)]
    return pl.DataFrame(rows, schema=SHOWN)


def _values(examples: list[dict[str, str]] | None) -> list[dict[str, str]]:
    return [
        {"args": example["args"], "value": show_value(example["encoding"], VALUE_WIDTH)}
        for example in examples or []
    ]
