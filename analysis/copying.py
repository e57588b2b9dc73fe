"""Descriptions that hand the code on instead of saying what it does.

A description that quotes the program makes a chain self-consistent without any understanding, so
SC is also given without the chains that do it. The measure is the share of the program's runs of
``GRAM`` tokens that stand in the description as they are. Tokens are words, numbers and single
other characters, so layout does not matter; the function's signature is left out, because a header
shows it to the model anyway, and so are comments and the docstring.
"""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table

from analysis.intervals import Estimate
from analysis.metrics import chain_metrics
from analysis.tables import RunTables

GRAM = 6
LEAST = 0.5
"""A description with at least this share of the program's runs copies it."""

_TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Copying:
    """How many descriptions copy, and SC_n with and without their chains."""

    descriptions: int
    measured: int
    """Those of programs long enough to tell."""
    copying: int
    chains: int
    """Chains with a description that copies."""
    sc: tuple[tuple[int, Estimate, Estimate], ...]
    """Step, SC of all chains, SC of the chains in which no description copies."""

    def to_json(self) -> dict[str, Any]:
        """Return the counts and the two SC curves as JSON values."""
        return {
            "descriptions": self.descriptions,
            "measured": self.measured,
            "copying": self.copying,
            "chains": self.chains,
            "sc": [
                {"step": step, "all": every.value, "without_copying": others.value, "of": others.n}
                for step, every, others in self.sc
            ],
        }


def copied_share(description: str, program: str, gram: int = GRAM) -> float | None:
    """Return the share of a program's token runs that stand in a description.

    Args:
        description: in words, or not.
        program: as it was shown.
        gram: tokens in a run.

    Returns:
        0 to 1; null for a program whose body is shorter than a run.
    """
    wanted = _grams(_TOKEN.findall(_body(program)), gram)
    if not wanted:
        return None
    return len(wanted & _grams(_TOKEN.findall(description), gram)) / len(wanted)


def copied_descriptions(shown: RunTables) -> pl.DataFrame:
    """Return chain_id, step and ``copied`` of each description.

    Args:
        shown: a run with its programs as the model was shown them.
    """
    steps = shown.steps.select("chain_id", "step", "nl", "pl")
    programs = steps.select("chain_id", pl.col("step") + 1, pl.col("pl").alias("described"))
    pairs = (
        steps.filter((pl.col("step") > 0) & pl.col("nl").is_not_null())
        .join(programs, ["chain_id", "step"])
        .collect()
    )
    shares = [copied_share(*pair) for pair in pairs.select("nl", "described").iter_rows()]
    return pairs.select("chain_id", "step").with_columns(copied=pl.Series(shares, dtype=pl.Float64))


def measure_copying(
    shown: RunTables, length: int, *, least: float = LEAST, seed: int = 0
) -> Copying:
    """Return how much of a run's self-consistency comes with copied code.

    Args:
        shown: a run with its programs as the model was shown them.
        length: last step.
        least: share from which on a description copies.
        seed: of the bootstrap.
    """
    descriptions = copied_descriptions(shown)
    copying = descriptions.filter(pl.col("copied") >= least)
    others = _without(shown, copying["chain_id"].unique().to_list())
    curves = [chain_metrics(tables, length, ks=(), seed=seed).steps for tables in (shown, others)]
    return Copying(
        descriptions=descriptions.height,
        measured=descriptions["copied"].count(),
        copying=copying.height,
        chains=copying["chain_id"].n_unique(),
        sc=tuple((every.step, every.sc, rest.sc) for every, rest in zip(*curves, strict=True)),
    )


def render_copying(copying: Copying) -> RenderableType:
    """Return the measure for the terminal."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading in ("step", "SC, all chains", "SC, without copied code"):
        table.add_column(heading, justify="right")
    for step, every, others in copying.sc:
        table.add_row(str(step), _cell(every), _cell(others))
    head = (
        f"{copying.copying} of {copying.measured} descriptions copy the code they describe "
        f"({copying.descriptions - copying.measured} are of programs too short to tell), "
        f"in {copying.chains} chains."
    )
    return Group(head, table) if copying.sc else Group(head)


def _without(tables: RunTables, chains: Sequence[str]) -> RunTables:
    kept = ~pl.col("chain_id").is_in(list(chains))
    return RunTables(
        chains=tables.chains.filter(kept),
        steps=tables.steps.filter(kept),
        outcomes=tables.outcomes.filter(kept),
        completions=tables.completions.filter(kept),
        resamples=tables.resamples.filter(kept),
    )


def _body(program: str) -> str:
    """Return what a program does, without its functions' signatures, comments and layout."""
    try:
        tree = ast.parse(program)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return program
    statements: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            statements += node.body
        else:
            statements.append(node)
    return "\n".join(map(ast.unparse, statements))


def _grams(tokens: Sequence[str], size: int) -> set[tuple[str, ...]]:
    return {tuple(tokens[at : at + size]) for at in range(len(tokens) - size + 1)}


def _cell(estimate: Estimate) -> str:
    if estimate.value is None:
        return "-"
    return f"{100 * estimate.value:.1f} ({estimate.n} of {estimate.of})"
