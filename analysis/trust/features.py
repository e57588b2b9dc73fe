"""What the matrix says of each sampled program, as columns.

One row is one sample, so that equal programs count as often as they were drawn. Unless a name says
otherwise, a spec counts as often as it was sampled, and a spec that is in error counts neither for
nor against a program. What cannot be known is null.

The paper's features are those of Speculyzer (Key, Li, Ellis, arXiv 2210.00848): pass rate and
cluster size, by IO specs and by relations, the ranks of these within the problem, and the
log-probability a token. The paper leaves open how ranks are counted and whether equal specs are
merged; here a rank is the share of the problem's samples that are strictly better.
"""

import polars as pl

from analysis.trust.agreement import add_b4, add_codet
from analysis.trust.tables import TrustTables

KEY = ["problem_id", "program_id"]
IO_FEATURES = ("io_rate", "io_cluster", "io_rate_rank", "io_cluster_rank")
RELATION_FEATURES = (
    "relation_rate",
    "relation_cluster",
    "relation_rate_rank",
    "relation_cluster_rank",
)
PAPER_FEATURES = (*IO_FEATURES, *RELATION_FEATURES)
LOGPROB_FEATURES = ("logprob",)
AGREEMENT_FEATURES = ("mbr", "output_cluster", "codet", "b4", "multiplicity")
ERROR_FEATURES = ("no_value_share", "timeout_share", "loads")
SOFT_RELATION_FEATURES = ("relation_soft", "relation_soft_rank")
PROBLEM_FEATURES = (
    "problem_specs",
    "problem_io_best",
    "problem_io_mean",
    "problem_mbr_best",
    "problem_mbr_mean",
    "problem_largest_cluster",
    "problem_clusters",
    "problem_b4_best",
)
PROBLEM_RELATION_FEATURES = ("problem_relation_best", "problem_relation_mean")
WITHOUT_RELATIONS = (
    *IO_FEATURES,
    *AGREEMENT_FEATURES,
    *(f"{name}_rank" for name in AGREEMENT_FEATURES),
    *ERROR_FEATURES,
    *PROBLEM_FEATURES,
)
ALL_FEATURES = (
    *WITHOUT_RELATIONS,
    *RELATION_FEATURES,
    *SOFT_RELATION_FEATURES,
    *PROBLEM_RELATION_FEATURES,
)
_RANKED = (
    "io_rate",
    "io_cluster",
    "relation_rate",
    "relation_cluster",
    "relation_soft",
    *AGREEMENT_FEATURES,
)


def sample_features(tables: TrustTables) -> pl.DataFrame:
    """Return one row a sampled program, sorted by problem and sample.

    Returns:
        ``problem_id``, ``sample``, ``program_id``, ``correct`` (null where unknown) and the
        features, Float64.
    """
    frame = program_features(tables).explode("samples", empty_as_null=False)
    frame = frame.rename({"samples": "sample"}).sort("problem_id", "sample")
    frame = frame.with_columns(_ranks(name) for name in _RANKED)
    return frame.with_columns(_problem_level())


def program_features(tables: TrustTables) -> pl.DataFrame:
    """Return one row a distinct program: all features but ranks and those of the problem."""
    programs = tables.sampled.select(
        *KEY,
        "samples",
        "weight",
        "correct",
        "logprob",
        loads=(pl.col("load") == "ok").cast(pl.Float64),
        drawn=pl.col("weight").sum().over("problem_id"),
    )
    votes = _votes(tables, programs)
    io = _spec_features(votes.filter(pl.col("kind") == "io"), "io")
    relations = _spec_features(votes.filter(pl.col("kind") == "relation"), "relation")
    frame = programs.with_columns(multiplicity=pl.col("weight") / pl.col("drawn"))
    for part in (io, relations, _soft_relations(votes), _outputs(tables, programs)):
        frame = frame.join(part, on=KEY, how="left", maintain_order="left")
    frame = add_codet(frame)
    return add_b4(frame, votes.filter(pl.col("kind") == "io")).drop("io_vector")


def _votes(tables: TrustTables, programs: pl.DataFrame) -> pl.DataFrame:
    """Return the checks of sampled programs, with the weights of both sides."""
    specs = tables.specs.select("problem_id", "spec_id", "kind", votes="weight")
    votes = tables.checks.filter(pl.col("result").is_not_null())
    votes = votes.join(specs, on=["problem_id", "spec_id"])
    votes = votes.join(programs.select(*KEY, "weight", "drawn"), on=KEY)
    holds = pl.col("result") == "holds"
    decided = (pl.col("result") != "error") & (pl.col("no_value") == 0)
    usable = decided.any().over("problem_id", "spec_id")
    return votes.filter(usable).with_columns(holds=holds)


def _spec_features(votes: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Pass rate, weight of passed specs, their set, and how many samples share the set."""
    held = pl.col("votes").filter("holds").sum()
    found = votes.group_by(KEY).agg(
        pl.first("weight"),
        (held / pl.col("votes").sum()).alias(f"{kind}_rate"),
        held.cast(pl.Float64).alias(f"{kind}_held"),
        pl.col("spec_id").filter("holds").sort().str.join(" ").alias(f"{kind}_vector"),
    )
    cluster = pl.col("weight").sum().over("problem_id", f"{kind}_vector").cast(pl.Float64)
    found = found.with_columns(cluster.alias(f"{kind}_cluster")).drop("weight")
    return found if kind == "io" else found.drop(f"{kind}_held", f"{kind}_vector")


def _soft_relations(votes: pl.DataFrame) -> pl.DataFrame:
    """Mean over relations of the share of inputs on which each holds."""
    tested = pl.sum_horizontal("held", "violated", "no_value", "errors")
    relations = votes.filter(pl.col("kind") == "relation").with_columns(
        share=pl.col("held") / tested
    )
    soft = (pl.col("share") * pl.col("votes")).sum() / pl.col("votes").sum()
    return relations.group_by(KEY).agg(relation_soft=soft)


def _outputs(tables: TrustTables, programs: pl.DataFrame) -> pl.DataFrame:
    """Agreement of outputs, and shares of inputs without a value.

    Soft MBR is the mean, over inputs, of the share of samples with the same output (Shi et al.,
    arXiv 2204.11454, with a soft loss). Whoever gives no value agrees with no other program.
    """
    outputs = tables.outputs.filter("fuzz").join(programs.select(*KEY, "weight", "drawn"), on=KEY)
    is_value = pl.col("kind") == "value"
    output = pl.when(is_value).then("output").otherwise(pl.col("program_id"))
    same = pl.col("weight").sum().over("problem_id", "input_id", output)
    vector = output.sort_by("input_id").str.join(" ")
    found = (
        outputs.with_columns(same=same / pl.col("drawn"))
        .group_by(KEY)
        .agg(
            pl.first("weight"),
            pl.first("drawn"),
            mbr=pl.col("same").mean(),
            vector=vector,
            no_value_share=1.0 - is_value.mean(),
            timeout_share=pl.col("kind").is_in(["timeout", "skipped"]).mean(),
        )
    )
    cluster = pl.col("weight").sum().over("problem_id", "vector") / pl.col("drawn")
    return found.with_columns(output_cluster=cluster).drop("weight", "drawn", "vector")


def _ranks(name: str) -> pl.Expr:
    """Share of the problem's samples that are strictly better."""
    better = pl.col(name).rank("min", descending=True).over("problem_id") - 1
    return (better / pl.col(name).count().over("problem_id")).alias(f"{name}_rank")


def _problem_level() -> list[pl.Expr]:
    def over(expression: pl.Expr, name: str) -> pl.Expr:
        return expression.over("problem_id").cast(pl.Float64).alias(f"problem_{name}")

    col = pl.col
    return [
        over(col("io_specs").max().log1p(), "specs"),
        over(col("io_rate").max(), "io_best"),
        over(col("io_rate").mean(), "io_mean"),
        over(col("mbr").max(), "mbr_best"),
        over(col("mbr").mean(), "mbr_mean"),
        over(col("output_cluster").max(), "largest_cluster"),
        over((1 / col("output_cluster")).sum().log1p(), "clusters"),
        over(col("b4").max(), "b4_best"),
        over(col("relation_soft").max(), "relation_best"),
        over(col("relation_soft").mean(), "relation_mean"),
    ]
