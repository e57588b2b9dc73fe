"""What the matrix says of each sampled program, as columns.

One row is one sample, so that equal programs count as often as they were drawn. Unless a name says
otherwise, a spec counts as often as it was sampled, and one that errs is not held. What cannot be
known is null.

The paper's features are those of Speculyzer (Key, Li, Ellis, arXiv 2210.00848): pass rate and
cluster size, by IO specs and by relations, the ranks of these within the problem, and the
log-probability a token. A pass rate is over all sampled specs of its kind, those that err included.
The paper leaves open how ranks are counted and whether equal specs are merged; here a rank is the
share of the problem's samples that are strictly better.
"""

from collections.abc import Collection, Iterable, Mapping

import polars as pl

from analysis.tables import RunTables
from analysis.trust.agreement import add_b4, add_codet
from analysis.trust.roundtrip import ROUND_TRIPS, round_trips
from analysis.trust.tables import TrustTables

KEY = ["problem_id", "program_id"]
GROUPS: Mapping[str, tuple[str, ...]] = {
    "IO pass rate": ("io_rate",),
    "IO cluster": ("io_cluster",),
    "IO ranks": ("io_rate_rank", "io_cluster_rank"),
    "relation pass rate": ("relation_rate",),
    "relation cluster": ("relation_cluster",),
    "relation ranks": ("relation_rate_rank", "relation_cluster_rank"),
    "log-probability": ("logprob",),
    "output cluster": ("output_cluster", "output_cluster_rank"),
    "soft MBR": ("mbr", "mbr_rank"),
    "B4": ("b4", "b4_rank"),
    "CodeT": ("codet", "codet_rank"),
    "multiplicity": ("multiplicity", "multiplicity_rank"),
    "error shares": ("no_value_share", "timeout_share", "loads"),
    "soft relations": ("relation_soft", "relation_soft_rank"),
    "problem": (
        "problem_specs",
        "problem_inputs",
        "problem_io_best",
        "problem_io_mean",
        "problem_mbr_best",
        "problem_mbr_mean",
        "problem_largest_cluster",
        "problem_clusters",
        "problem_io_entropy",
        "problem_output_entropy",
        "problem_b4_best",
    ),
    "problem, relations": (
        "problem_relations",
        "problem_relation_best",
        "problem_relation_mean",
        "problem_relation_entropy",
    ),
    "round trip": ("round_trip", "problem_round_trip"),
}
"""Features that are switched on and off together."""
IO_GROUPS = ("IO pass rate", "IO cluster", "IO ranks")
RELATION_GROUPS = ("relation pass rate", "relation cluster", "relation ranks")
PAPER_GROUPS = (*IO_GROUPS, *RELATION_GROUPS, "log-probability")
FROM_RELATIONS = (*RELATION_GROUPS, "soft relations", "problem, relations")
_RANKED = (
    "io_rate",
    "io_cluster",
    "relation_rate",
    "relation_cluster",
    "relation_soft",
    "output_cluster",
    "mbr",
    "b4",
    "codet",
    "multiplicity",
)

_KINDS = (("problem_specs", "io"), ("problem_relations", "relation"))
_COUNTS = (*dict(_KINDS), "problem_inputs")


def choose_features(
    frame: pl.DataFrame, groups: Iterable[str] = tuple(GROUPS), *, without: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the features of some groups, less those that are null in all of a frame.

    Args:
        frame: as ``sample_features`` returns it.
        groups: names of ``GROUPS``.
        without: groups to leave out.
    """
    names = [name for group in groups if group not in without for name in GROUPS[group]]
    return tuple(name for name in names if frame[name].null_count() < frame.height)


def sample_features(tables: TrustTables, chains: RunTables | None = None) -> pl.DataFrame:
    """Return one row a sampled program, sorted by problem and sample.

    Args:
        tables: the matrix.
        chains: a chain run on the same problems, for round-trip consistency.

    Returns:
        ``problem_id``, ``sample``, ``program_id``, ``correct`` (null where unknown) and the
        features, Float64.
    """
    programs = program_features(tables)
    trips = pl.DataFrame(schema=ROUND_TRIPS)
    if chains is not None:
        trips = round_trips(tables.sampled, chains)
    programs = programs.join(trips, on=KEY, how="left", maintain_order="left")
    frame = programs.explode("samples", empty_as_null=False)
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
    frame = frame.join(_counts(tables, votes), on="problem_id", how="left", maintain_order="left")
    frame = frame.with_columns(pl.col(_COUNTS).fill_null(0.0))
    frame = add_codet(frame)
    return add_b4(frame, votes.filter(pl.col("kind") == "io")).drop("io_vector", "io_specs")


def _votes(tables: TrustTables, programs: pl.DataFrame) -> pl.DataFrame:
    """Return the checks of sampled programs, with the weights of both sides.

    Specs that err count as not held. A kind of which nothing could be decided in a problem, such as
    relations without an input, is left out: it says nothing, rather than that nothing holds.
    """
    specs = tables.specs.select("problem_id", "spec_id", "kind", votes="weight")
    votes = tables.checks.filter(pl.col("result").is_not_null())
    votes = votes.join(specs, on=["problem_id", "spec_id"])
    votes = votes.join(programs.select(*KEY, "weight", "drawn"), on=KEY)
    decided = (pl.col("result") != "error") & (pl.col("no_value") == 0)
    some = decided.any().over("problem_id", "kind")
    return votes.filter(some).with_columns(holds=pl.col("result") == "holds")


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
    share = pl.when(tested > 0).then(pl.col("held") / tested).otherwise(0.0)
    relations = votes.filter(pl.col("kind") == "relation").with_columns(share=share)
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


def _counts(tables: TrustTables, votes: pl.DataFrame) -> pl.DataFrame:
    """How many samples of usable specs, and how many inputs, a problem has; as log(1 + n)."""
    decided = (pl.col("result") != "error") & (pl.col("no_value") == 0)
    usable = (
        votes.filter(decided)
        .unique(["problem_id", "spec_id"])
        .select("problem_id", "kind", "votes")
    )
    by_kind = {name: pl.col("votes").filter(pl.col("kind") == kind).sum() for name, kind in _KINDS}
    specs = usable.group_by("problem_id").agg(**by_kind)
    inputs = tables.outputs.filter("fuzz").group_by("problem_id")
    counts = inputs.agg(problem_inputs=pl.col("input_id").n_unique())
    found = specs.join(counts, on="problem_id", how="full", coalesce=True)
    return found.select("problem_id", pl.col(_COUNTS).cast(pl.Float64).log1p())


def _ranks(name: str) -> pl.Expr:
    """Share of the problem's samples that are strictly better."""
    better = pl.col(name).rank("min", descending=True).over("problem_id") - 1
    return (better / pl.col(name).count().over("problem_id")).alias(f"{name}_rank")


def _problem_level() -> list[pl.Expr]:
    """Facts about the problem; entropies are of the clusters, in nats."""

    def over(expression: pl.Expr, name: str) -> pl.Expr:
        return expression.over("problem_id").cast(pl.Float64).alias(f"problem_{name}")

    def entropy(share: pl.Expr) -> pl.Expr:
        return -share.log().mean()

    col = pl.col
    return [
        over(col("io_rate").max(), "io_best"),
        over(col("io_rate").mean(), "io_mean"),
        over(col("mbr").max(), "mbr_best"),
        over(col("mbr").mean(), "mbr_mean"),
        over(col("output_cluster").max(), "largest_cluster"),
        over((1 / col("output_cluster")).sum().log1p(), "clusters"),
        over(entropy(col("io_cluster") / col("drawn")), "io_entropy"),
        over(entropy(col("output_cluster")), "output_entropy"),
        over(col("b4").max(), "b4_best"),
        over(col("relation_soft").max(), "relation_best"),
        over(col("relation_soft").mean(), "relation_mean"),
        over(entropy(col("relation_cluster") / col("drawn")), "relation_entropy"),
    ]
