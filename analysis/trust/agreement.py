"""Scores of consensus sets: programs that hold the same specs, together with these specs."""

import polars as pl
from scipy.special import betaln

KEY = ["problem_id", "program_id"]
B4_ALPHA = 1e3
"""Prior of right programs and of right tests: Beta(alpha, 1)."""
B4_BETA = 1e4
"""Prior of a wrong program passing a wrong test: Beta(1, beta)."""


def add_codet(frame: pl.DataFrame) -> pl.DataFrame:
    """Add CodeT's score: tests passed times the square root of the programs of the set.

    Chen et al., arXiv 2207.10397, section 3.2, in the form of its release.
    """
    return frame.with_columns(codet=pl.col("io_held") * pl.col("io_cluster").sqrt())


def add_b4(frame: pl.DataFrame, votes: pl.DataFrame) -> pl.DataFrame:
    """Add the logarithm of B4's score of a program's consensus set.

    Chen et al., arXiv 2409.08692: the posterior that exactly this set's programs and tests are
    right, where a right program passes a right test for certain and a wrong one never; a product
    of four Beta functions, of what wrong programs do on right and on wrong tests, and of how many
    programs and tests are right.

    Args:
        frame: one row a program, with ``io_held``, ``io_cluster``, ``drawn``.
        votes: one row a program and IO spec, with ``weight``, ``votes``, ``holds``.
    """
    passes = (pl.col("weight") * pl.col("holds")).sum().over("problem_id", "spec_id")
    tests = votes.group_by("problem_id").agg(
        io_specs=pl.struct("spec_id", "votes").unique().struct.field("votes").sum(),
        all_passes=(pl.col("weight") * pl.col("votes")).filter("holds").sum(),
    )
    on_right = (
        votes.with_columns(passes=passes)
        .group_by(KEY)
        .agg(on_right=(pl.col("passes") * pl.col("votes")).filter("holds").sum())
    )
    frame = frame.join(on_right, on=KEY, how="left", maintain_order="left")
    frame = frame.join(tests, on="problem_id", how="left", maintain_order="left")
    right, held = pl.col("io_cluster"), pl.col("io_held")
    wrong, other = pl.col("drawn") - right, pl.col("io_specs") - held
    passed_right = pl.col("on_right") - right * held
    passed_wrong = pl.col("all_passes") - pl.col("on_right")
    b4 = (
        _log_beta(1 + passed_right, 1 + wrong * held - passed_right)
        + _log_beta(1 + passed_wrong, B4_BETA + wrong * other - passed_wrong)
        + _log_beta(B4_ALPHA + right, 1 + wrong)
        + _log_beta(B4_ALPHA + held, 1 + other)
    )
    return frame.with_columns(b4=b4).drop("on_right", "all_passes")


def _log_beta(one: pl.Expr, other: pl.Expr) -> pl.Expr:
    return pl.struct(one=one.cast(pl.Float64), other=other.cast(pl.Float64)).map_batches(
        lambda pair: pl.Series(
            betaln(pair.struct.field("one").to_numpy(), pair.struct.field("other").to_numpy()),
            dtype=pl.Float64,
        ).fill_nan(None),
        return_dtype=pl.Float64,
    )
