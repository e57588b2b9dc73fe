"""Whether the description or the program is to blame for a broken chain, from a run's tables.

Where a chain broke, a run with ``chain.blame`` sampled more programs from the same description and
compared each with the program that was described (``pipeline/blaming.py``). Here they are counted:

- ``description``: more than half of the programs asked for differ from the described one, so the
  description lost the behaviour; or the model gave no description at all.
- ``program``: more than half agree with it, so the description held the behaviour and the chain's
  own program slipped.
- ``undecided``: neither. What gave no program or cannot be compared speaks for neither side.

Null where nothing was sampled: the chain broke before any description, or nobody asked.
"""

from dataclasses import dataclass
from typing import Any

import polars as pl
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from analysis.broken import broken_chains
from analysis.tables import MODEL_FAILURES, RunTables

DESCRIPTION, PROGRAM, UNDECIDED = VERDICTS = ("description", "program", "undecided")
FINDINGS = ("agrees", "differs", "no_program", "incomparable", "failed")
BLAMED = pl.Schema(
    {
        "chain_id": pl.String,
        "problem_id": pl.String,
        "sample": pl.Int32,
        "from_step": pl.Int32,
        "to_step": pl.Int32,
        "sampled": pl.UInt32,
        "agrees": pl.UInt32,
        "differs": pl.UInt32,
        "no_program": pl.UInt32,
        "incomparable": pl.UInt32,
        "failed": pl.UInt32,
        "blame": pl.String,
    }
)
_MEANINGS = {
    DESCRIPTION: "most programs written from it differ from the one described",
    PROGRAM: "most agree with the one described: the chain's own slipped",
    UNDECIDED: "neither is most",
}


@dataclass(frozen=True, slots=True)
class Blame:
    """Who is to blame in a run's broken chains, and what it cost to tell."""

    broken: int
    """Chains that broke."""
    chains: dict[str, int]
    """Of those, chains by verdict."""
    programs: dict[str, int]
    """Programs that were sampled again, by what they came to."""
    requests: int
    completion_tokens: int

    def to_json(self) -> dict[str, Any]:
        """Return the counts as JSON values."""
        return {
            "broken": self.broken,
            "chains": self.chains,
            "programs": self.programs,
            "requests": self.requests,
            "completion_tokens": self.completion_tokens,
        }


def blamed_chains(tables: RunTables, length: int) -> pl.DataFrame:
    """Return one row for each broken chain, of schema ``BLAMED``.

    Args:
        tables: the run.
        length: last step, as the run was asked for.
    """
    counts = tables.resamples.group_by("chain_id").agg(
        sampled=pl.len(), **{name: (pl.col("finding") == name).sum() for name in FINDINGS}
    )
    said = tables.steps.select("chain_id", to_step="step", said=pl.col("nl").is_not_null())
    return (
        broken_chains(tables, length)
        .lazy()
        .join(counts, "chain_id", how="left")
        .join(said, ["chain_id", "to_step"], how="left")
        .with_columns(pl.col("sampled", *FINDINGS).fill_null(0))
        .with_columns(blame=_blame())
        .select(BLAMED.names())
        .cast(BLAMED)
        .sort("problem_id", "sample")
        .collect()
    )


def measure_blame(tables: RunTables, length: int) -> Blame:
    """Return the counts over a run; arguments as ``blamed_chains``."""
    chains = blamed_chains(tables, length)
    tokens = tables.resamples.select(pl.col("completion_tokens").sum()).collect().item()
    return Blame(
        broken=chains.height,
        chains={name: int((chains["blame"] == name).sum()) for name in VERDICTS},
        programs={name: int(chains[name].sum()) for name in FINDINGS},
        requests=int(chains["sampled"].sum()),
        completion_tokens=int(tokens),
    )


def render_blame(blame: Blame) -> RenderableType:
    """Return the counts for the terminal."""
    table = Table(
        title="\nWho is to blame where chains broke",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
    )
    table.add_column("blame", no_wrap=True)
    table.add_column("chains", justify="right")
    table.add_column("which means")
    for name in VERDICTS:
        table.add_row(name, f"{blame.chains[name]:,}", _MEANINGS[name])
    untold = blame.broken - sum(blame.chains.values())
    if untold:
        table.add_row("-", f"{untold:,}", "broke before the first description")
    came_to = ", ".join(f"{count} {name}" for name, count in blame.programs.items() if count)
    return Group(
        table,
        Text(
            f"From {blame.requests:,} more programs ({came_to or 'none'}), "
            f"{blame.completion_tokens:,} tokens written, not counted above.",
            style="dim",
        ),
    )


def _blame() -> pl.Expr:
    unsaid = pl.col("reason").is_in(MODEL_FAILURES) & ~pl.col("said").fill_null(True)
    half = pl.col("sampled") / 2
    return (
        pl.when(pl.col("from_step").is_null())
        .then(None)
        .when(unsaid)
        .then(pl.lit(DESCRIPTION))
        .when(pl.col("sampled") == 0)
        .then(None)
        .when(pl.col("differs") > half)
        .then(pl.lit(DESCRIPTION))
        .when(pl.col("agrees") > half)
        .then(pl.lit(PROGRAM))
        .otherwise(pl.lit(UNDECIDED))
    )
