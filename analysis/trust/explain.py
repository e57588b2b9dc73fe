"""Specs that explain why a program was chosen, ranked by how well they tell right from wrong.

The criterion is the logarithm of two chances: that a right program holds the spec, over that a
wrong one does. Nobody knows which programs are right, so each counts for both sides, by its
probability:

    log((Σ p_i h_i / Σ p_i + 0.01) / (Σ (1 - p_i) h_i / Σ (1 - p_i) + 0.01))

with p_i the probability of sample i and h_i whether it holds the spec. It is ours: Speculyzer (Key,
Li, Ellis, arXiv 2210.00848) ranks by a criterion that its text, as far as known, does not give.

Left out are specs that say what a better-ranked one says (of all sampled programs the same ones
hold both) and relations that are trivially true (false of no output that any program gave).
"""

from collections.abc import Mapping

import polars as pl

from analysis.trust.tables import TrustTables

KEY = ["problem_id", "program_id"]
SPEC = ["problem_id", "spec_id"]
SMOOTHING = 0.01
MOST_EXAMPLES = 3
_EXAMPLE = pl.List(pl.Struct({"args": pl.String, "encoding": pl.String}))
EXPLANATIONS = pl.Schema(
    {
        "problem_id": pl.String(),
        "program_id": pl.String(),
        "probability": pl.Float64(),
        "rank": pl.Int32(),
        "spec_id": pl.String(),
        "kind": pl.String(),
        "source": pl.String(),
        "criterion": pl.Float64(),
        "samples": pl.Int32(),
        "tested_on": pl.Int32(),
        "examples": _EXAMPLE,
    }
)
"""``samples``: how often the spec was sampled; ``tested_on``: inputs on which it was decided;
``examples``: the first of these, with the program's output in canonical encoding."""

RIGHT = (pl.col("belief") * pl.col("holds")).sum() / pl.col("belief").sum()
"""Chance that a right program holds the spec."""
WRONG = ((pl.col("weight") - pl.col("belief")) * pl.col("holds")).sum() / (
    pl.col("weight") - pl.col("belief")
).sum()
"""Chance that a wrong program holds the spec."""
LOG_RATIO = (
    (RIGHT.fill_nan(0.0) + SMOOTHING).log() - (WRONG.fill_nan(0.0) + SMOOTHING).log()
).alias("criterion")


def explain(
    tables: TrustTables, scored: pl.DataFrame, *, most: int = 3, criterion: pl.Expr = LOG_RATIO
) -> pl.DataFrame:
    """Return the specs to show with the chosen program of each problem.

    Args:
        tables: the matrix.
        scored: one row a sample: ``problem_id``, ``program_id``, ``score``, a probability.
        most: specs a problem.
        criterion: ranks specs, the highest first; an aggregate over the programs of one spec, with
            columns ``holds``, ``weight`` (samples), ``belief`` (samples times probability),
            ``votes`` (how often the spec was sampled) and ``source``.

    Returns:
        Schema ``EXPLANATIONS``, best first in each problem. A problem of which no spec is left has
        no row.
    """
    programs = beliefs(scored)
    chosen = choose(programs)
    ranked = rank_specs(tables, programs, chosen, criterion).filter(pl.col("rank") <= most)
    examples = pl.concat([_io_examples(tables, ranked), _relation_examples(tables, ranked)])
    ranked = ranked.join(examples, on=SPEC, how="left", maintain_order="left")
    source = tables.specs.select(*SPEC, "source")
    ranked = ranked.join(source, on=SPEC, how="left", maintain_order="left")
    named = ranked.rename({"votes": "samples"})
    return named.select(pl.col(name).cast(kind) for name, kind in EXPLANATIONS.items())


def beliefs(scored: pl.DataFrame) -> pl.DataFrame:
    """Return one row a distinct program: ``probability``, ``weight`` (samples), ``belief``.

    Samples of one program have one score.
    """
    programs = scored.group_by(KEY, maintain_order=True).agg(
        probability=pl.first("score"), weight=pl.len().cast(pl.Float64)
    )
    return programs.with_columns(belief=pl.col("probability") * pl.col("weight"))


def choose(programs: pl.DataFrame) -> pl.DataFrame:
    """Return each problem's most probable program; of equals the one sampled most, then first."""
    ordered = programs.sort(
        "problem_id", "probability", "weight", descending=[False, True, True], maintain_order=True
    )
    return ordered.group_by("problem_id", maintain_order=True).first().select(*KEY, "probability")


def rank_specs(
    tables: TrustTables, programs: pl.DataFrame, chosen: pl.DataFrame, criterion: pl.Expr
) -> pl.DataFrame:
    """Return all specs that could be shown with the chosen programs, ranked from 1.

    Args:
        tables: the matrix.
        programs: as ``beliefs`` returns them.
        chosen: one row a problem: ``problem_id``, ``program_id``, ``probability``.
        criterion: as in ``explain``.
    """
    specs = tables.specs.select(*SPEC, "kind", "source", votes="weight")
    votes = tables.checks.filter(pl.col("result").is_not_null())
    votes = votes.join(programs, on=KEY).join(specs, on=SPEC)
    votes = votes.with_columns(holds=pl.col("result") == "holds")
    judged = votes.group_by(SPEC).agg(
        criterion.alias("criterion"),
        falsified=(pl.col("violated") > 0).any(),
        holders=pl.col("program_id").filter("holds").sort().str.join(" "),
    )
    own = votes.filter("holds").join(chosen.select(KEY), on=KEY, how="semi")
    own = own.select(*KEY, "spec_id", "kind", "votes", tested_on=pl.col("held"))
    shown = own.join(judged, on=SPEC).filter((pl.col("kind") == "io") | pl.col("falsified"))
    shown = shown.join(chosen.select("problem_id", "probability"), on="problem_id")
    order = ["problem_id", "criterion", "votes", "spec_id"]
    shown = shown.sort(order, descending=[False, True, True, False])
    shown = shown.unique(["problem_id", "kind", "holders"], keep="first", maintain_order=True)
    return shown.with_columns(rank=pl.int_range(1, pl.len() + 1).over("problem_id")).drop(
        "falsified", "holders"
    )


def _io_examples(tables: TrustTables, ranked: pl.DataFrame) -> pl.DataFrame:
    """The one input of each plain assert; an assert of another form shows its own."""
    cases = tables.specs.filter(pl.col("args").is_not_null()).select(*SPEC, "args")
    shown = ranked.filter(pl.col("kind") == "io").select(*KEY, "spec_id").join(cases, on=SPEC)
    return _examples(shown.join(_outputs(tables).drop("fuzz"), on=[*KEY, "args"]))


def _relation_examples(tables: TrustTables, ranked: pl.DataFrame) -> pl.DataFrame:
    shown = ranked.filter(pl.col("kind") == "relation").select(*KEY, "spec_id")
    return _examples(shown.join(_outputs(tables).filter("fuzz"), on=KEY))


def _outputs(tables: TrustTables) -> pl.DataFrame:
    values = tables.outputs.filter(pl.col("kind") == "value")
    return values.select(*KEY, "input_id", "args", "encoding", "fuzz")


def _examples(outputs: pl.DataFrame) -> pl.DataFrame:
    pairs = outputs.sort(*SPEC, "input_id").group_by(SPEC, maintain_order=True)
    return pairs.agg(examples=pl.struct("args", "encoding").head(MOST_EXAMPLES))


CRITERIA: Mapping[str, pl.Expr] = {
    "log ratio": LOG_RATIO,
    "difference": RIGHT.fill_nan(0.0) - WRONG.fill_nan(0.0),
    "fewest programs": -(pl.col("weight") * pl.col("holds")).sum(),
    "most programs": (pl.col("weight") * pl.col("holds")).sum(),
    "most sampled": pl.col("votes").first(),
    "random": pl.col("source").first().hash(seed=0).cast(pl.Float64),
}
"""Other ways to rank, for comparison; ``fewest programs`` is distinctiveness."""
