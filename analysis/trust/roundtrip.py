"""Round-trip consistency as a feature: what chains of the same problems say of sampled programs.

A chain describes its program in words and writes it anew from these (IdentityChain, arXiv
2310.14053). A program that comes back the same was understood by its writer. This is a feature of
a program where a chain began with it, and of a problem where chains began with any program of it.
"""

import ast
import warnings

import polars as pl

from analysis.tables import RunTables
from analysis.unroll import unroll

FIRST_TRANSITION = 1
ROUND_TRIPS = pl.Schema(
    {
        "problem_id": pl.String,
        "program_id": pl.String,
        "round_trip": pl.Float64,
        "problem_round_trip": pl.Float64,
    }
)
"""Means of TOM_1, the share of tests whose output survives one round trip (arXiv 2310.14053,
section 4.3): over chains that began with the program, and over all chains of the problem; null
where there is no such chain, or none whose outputs could be compared."""


def round_trips(programs: pl.DataFrame, run: RunTables) -> pl.DataFrame:
    """Return the round-trip consistency of each program.

    Args:
        programs: of a matrix: ``problem_id``, ``program_id``, ``source``.
        run: a chain run. Problems are the same where their ids are, programs where their sources
            are, but for comments and layout.

    Returns:
        Schema ``ROUND_TRIPS``, one row a program, in its order.
    """
    chains = _first_transitions(run)
    of_problem = chains.group_by("problem_id").agg(problem_round_trip=pl.col("tom").mean())
    of_program = chains.group_by("problem_id", "normal").agg(round_trip=pl.col("tom").mean())
    concerned = programs.select("problem_id", "program_id", "source").with_columns(
        normal=pl.when(pl.col("problem_id").is_in(chains["problem_id"].unique().implode()))
        .then("source")
        .map_elements(_normal, return_dtype=pl.String)
    )
    joined = concerned.join(
        of_program, on=["problem_id", "normal"], how="left", maintain_order="left"
    ).join(of_problem, on="problem_id", how="left", maintain_order="left")
    return joined.select(pl.col(name).cast(kind) for name, kind in ROUND_TRIPS.items())


def first_programs(run: RunTables) -> pl.DataFrame:
    """Return the first program of each chain as a sample, sorted by problem.

    Returns:
        ``problem_id``, ``chain_id``, ``correct`` (whether it passes all tests) and ``round_trip``
        (its TOM_1; null where no output could be compared).
    """
    transition = pl.col("step") == FIRST_TRANSITION
    tom = unroll(run, FIRST_TRANSITION).filter(transition).select("chain_id", round_trip="tom")
    first = run.steps.filter(pl.col("step") == 0).select(
        "problem_id", "chain_id", correct=pl.col("verdict") == "pass"
    )
    return first.join(tom, on="chain_id", how="left").sort("problem_id", "chain_id").collect()


def _first_transitions(run: RunTables) -> pl.DataFrame:
    """Return each chain's first program and the TOM of its first transition."""
    transition = pl.col("step") == FIRST_TRANSITION
    tom = unroll(run, FIRST_TRANSITION).filter(transition).select("chain_id", "tom")
    first = run.steps.filter(pl.col("step") == 0, pl.col("pl").is_not_null())
    first = first.select("chain_id", "problem_id", normal="pl")
    found = first.join(tom, on="chain_id").filter(pl.col("tom").is_not_null()).collect()
    return found.with_columns(pl.col("normal").map_elements(_normal, return_dtype=pl.String))


def _normal(source: str) -> str:
    """Return a program without comments and layout; unchanged where it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.unparse(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source.rstrip()
