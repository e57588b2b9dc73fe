"""How good shown specs are as evidence, by what is known only where there are labels.

Three figures. *True*: the problem's own solution holds the spec. *Kill*: the share of wrong samples
that do not hold it. *Ideal reader*: someone who knows which specs are true accepts the chosen
program exactly if all that is shown is true; the figure is the mean of the share of right programs
accepted and of wrong ones refused.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.trust.explain import KEY, SPEC, beliefs, choose, rank_specs
from analysis.trust.figures import Figure, figure_of
from analysis.trust.tables import TrustTables

Vector = npt.NDArray[np.float64]
REFERENCE = "reference"
"""Id of a problem's own solution."""
RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class ExplanationScore:
    """Figures of the first specs that a criterion shows; null where undefined."""

    shown: int
    """Specs a problem, at most."""
    problems: int
    """Problems with any spec to show; the others do not count."""
    true_when_right: float | None
    kill_when_right: float | None
    ideal_reader: Figure


def score_explanations(
    tables: TrustTables, scored: pl.DataFrame, criterion: pl.Expr, *, kind: str | None, shown: int
) -> ExplanationScore:
    """Score a criterion.

    Args:
        tables: the matrix, with the problems' own solutions.
        scored: one row a sample: ``problem_id``, ``program_id``, ``score``, ``correct``.
        criterion: as in ``analysis.trust.explain.explain``.
        kind: of the specs that may be shown; None for both.
        shown: specs a problem.
    """
    programs = beliefs(scored)
    chosen = choose(programs)
    ranked = rank_specs(_only(tables, kind), programs, chosen, criterion)
    ranked = ranked.filter(pl.col("rank") <= shown).join(_truth(tables, scored), on=SPEC)
    label = scored.group_by(KEY).agg(right=pl.col("correct").first())
    by_problem = (
        ranked.join(label, on=KEY)
        .group_by("problem_id", maintain_order=True)
        .agg(
            pl.first("right"),
            all_true=pl.col("true").all(),
            true=pl.mean("true"),
            kill=pl.mean("kill"),
        )
    )
    right = by_problem.filter("right")
    return ExplanationScore(
        shown=shown,
        problems=by_problem.height,
        true_when_right=_mean(right["true"]),
        kill_when_right=_mean(right["kill"]),
        ideal_reader=_reader(by_problem["right"].to_numpy(), by_problem["all_true"].to_numpy()),
    )


def _only(tables: TrustTables, kind: str | None) -> TrustTables:
    if kind is None:
        return tables
    specs = tables.specs.filter(pl.col("kind") == kind)
    return TrustTables(tables.programs, specs, tables.outputs, tables.checks)


def _truth(tables: TrustTables, scored: pl.DataFrame) -> pl.DataFrame:
    """Return whether each spec is true, and the share of wrong samples that it tells."""
    holds = pl.col("result") == "holds"
    true = tables.checks.filter(pl.col("program_id") == REFERENCE).select(*SPEC, true=holds)
    wrong = scored.filter(~pl.col("correct")).group_by(KEY).agg(times=pl.len())
    against = tables.checks.select(*KEY, "spec_id", holds=holds).join(wrong, on=KEY)
    kill = (pl.col("times") * ~pl.col("holds")).sum() / pl.col("times").sum()
    return true.join(against.group_by(SPEC).agg(kill=kill), on=SPEC, how="left")


def _mean(values: pl.Series) -> float | None:
    known = values.drop_nulls().cast(pl.Float64).to_numpy()
    return float(known.mean()) if len(known) else None


def _reader(right: npt.NDArray[np.bool_], accepts: npt.NDArray[np.bool_]) -> Figure:
    """Return balanced accuracy with its interval over problems."""
    value = _balanced(right, accepts)
    if value is None:
        return Figure(None)
    generator = np.random.default_rng(0)
    draws = generator.integers(0, len(right), size=(RESAMPLES, len(right)))
    resampled = [_balanced(right[draw], accepts[draw]) for draw in draws]
    return figure_of(value, np.array(resampled, dtype=float))


def _balanced(right: npt.NDArray[np.bool_], accepts: npt.NDArray[np.bool_]) -> float | None:
    if right.all() or not right.any():
        return None
    return float((accepts[right].mean() + 1 - accepts[~right].mean()) / 2)
