"""What a run answers: each problem's chosen program, its probability, or that it declines."""

from dataclasses import asdict
from typing import Any

import polars as pl

from analysis.intervals import Estimate, exact_interval, wilson_interval
from analysis.tables import RunTables
from analysis.trust.features import sample_features
from analysis.trust.keeping import KeptModel
from analysis.trust.tables import TrustTables

ANSWERS = pl.Schema(
    {
        "problem_id": pl.String,
        "program_id": pl.String,
        "source": pl.String,
        "score": pl.Float64,
        "probability": pl.Float64,
        "answered": pl.Boolean,
        "samples": pl.Int64,
        "drawn": pl.Int64,
        "correct": pl.Boolean,
        "right_share": pl.Float64,
        "solvable": pl.Boolean,
    }
)
"""``probability`` is null without a model, which answers every problem; ``samples`` is how often
the program was drawn, of ``drawn``; the last three need hidden tests and are null without: whether
the program is right, the share of samples that are, and whether any is."""


def score_samples(
    tables: TrustTables, model: KeptModel | None, chains: RunTables | None = None
) -> pl.DataFrame:
    """Return the features of each sample with its ``score``, a number in [0, 1].

    With a model it is the probability of being right. Without one it is agreement: the share of
    B4's posterior (arXiv 2409.08692) that falls to the program's consensus set; where there is no
    IO spec, soft MBR; where there are no inputs either, how often it was drawn. Chains of the same
    problems add round-trip consistency to the features.
    """
    frame = sample_features(tables, chains)
    if model is not None:
        return frame.with_columns(score=pl.Series(model.predict(frame), dtype=pl.Float64))
    b4 = (pl.col("b4") - pl.col("b4").max().over("problem_id")).exp()
    # Programs of one set share its posterior, so a set counts once.
    sets = (b4 / pl.col("io_cluster")).sum().over("problem_id")
    return frame.with_columns(score=pl.coalesce(b4 / sets, "mbr", "multiplicity"))


def answer_problems(
    tables: TrustTables, scored: pl.DataFrame, *, threshold: float | None
) -> pl.DataFrame:
    """Return each problem's best program; of equals the one drawn most, then first.

    Args:
        tables: of the run.
        scored: as ``score_samples`` returns it.
        threshold: least probability to answer with; None where scores are no probabilities.

    Returns:
        Schema ``ANSWERS``, one row a problem that has programs.
    """
    programs = scored.group_by("problem_id", "program_id", maintain_order=True).agg(
        pl.first("score", "correct"), samples=pl.len()
    )
    best = programs.sort(
        "problem_id", "score", "samples", descending=[False, True, True], maintain_order=True
    )
    chosen = best.group_by("problem_id", maintain_order=True).first()
    facts = scored.group_by("problem_id").agg(
        drawn=pl.len(), right_share=pl.col("correct").mean(), solvable=pl.col("correct").any()
    )
    labelled = pl.col("right_share").is_not_null()
    chosen = chosen.join(facts, on="problem_id", maintain_order="left").with_columns(
        probability=pl.col("score") if threshold is not None else pl.lit(None),
        answered=pl.lit(True) if threshold is None else pl.col("score") >= threshold,
        solvable=pl.when(labelled).then("solvable"),
    )
    source = tables.programs.select("problem_id", "program_id", "source")
    chosen = chosen.join(source, on=["problem_id", "program_id"], maintain_order="left")
    return chosen.select(pl.col(name).cast(kind) for name, kind in ANSWERS.items())


def has_labels(answers: pl.DataFrame) -> bool:
    """Tell whether it is known of any chosen program whether it is right."""
    return answers["correct"].null_count() < answers.height


def summarize(answers: pl.DataFrame) -> dict[str, Any]:
    """Return the figures of a run's answers; shares that need labels are null without them."""
    given = answers.filter("answered")
    return {
        "problems": answers.height,
        "answered": given.height,
        "declined": answers.height - given.height,
        "shares": {name: asdict(share) for name, share in right_shares(answers).items()},
    }


def right_shares(answers: pl.DataFrame) -> dict[str, Estimate]:
    """Return shares of problems with 95 % intervals.

    ``answered_right``: of the answers given; ``chosen_right``: of all chosen programs;
    ``random_right``: of programs drawn at random; ``any_right``: of problems with a right program
    among the samples.
    """
    return {
        "answered_right": _share(answers.filter("answered")["correct"]),
        "chosen_right": _share(answers["correct"]),
        "random_right": _share(answers["right_share"]),
        "any_right": _share(answers["solvable"]),
    }


def _share(column: pl.Series) -> Estimate:
    known = column.drop_nulls().cast(pl.Float64)
    n, total = len(known), float(known.sum())
    if not n:
        return Estimate(None, None, None, 0, len(column))
    binary = bool(known.is_in([0.0, 1.0]).all())
    low, high = exact_interval(round(total), n) if binary else wilson_interval(total, n)
    method = "exact" if binary else "wilson"
    return Estimate(total / n, low, high, n, len(column), method)
