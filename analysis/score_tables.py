"""Every metric of a transition side by side, one row a chain: what ``correlate`` reads."""

from collections.abc import Iterable, Sequence

import polars as pl

from analysis.recorded import RecordedChain
from analysis.reference import Rules, score_recorded
from analysis.tables import RunTables
from analysis.text_metrics import score_texts
from analysis.text_pairs import recorded_pairs, run_pairs
from analysis.unroll import unroll

_KEYS = ("problem_id", "sample")


def recorded_scores(
    chains: Iterable[RecordedChain],
    rules: Rules,
    *,
    step: int = 1,
    names: Sequence[str] | None = None,
) -> pl.DataFrame:
    """Return the metrics of a recorded transition.

    Args:
        chains: recorded chains.
        rules: the scoring.
        step: the later step, at least 1.
        names: text metrics; null for the usual ones.

    Returns:
        problem_id, sample, ``passed`` (of program 0), ``tom``, ``pfm``, then the text metrics.

    Raises:
        UserError: as ``score_texts``.
    """
    chains = list(chains)
    texts = score_texts(recorded_pairs(chains, step), names)
    return _assemble(score_recorded(chains, rules), texts, step)


def run_scores(
    tables: RunTables, first: pl.DataFrame, *, step: int = 1, names: Sequence[str] | None = None
) -> pl.DataFrame:
    """Return the metrics of a run's transition; arguments as ``run_pairs``, the rest as above."""
    texts = score_texts(run_pairs(tables, first, step), names)
    return _assemble(unroll(tables, step).collect(), texts, step)


def _assemble(scored: pl.DataFrame, texts: pl.DataFrame, step: int) -> pl.DataFrame:
    first = scored.filter(pl.col("step") == 0).select(*_KEYS, "passed")
    later = scored.filter(pl.col("step") == step).select(
        *_KEYS, "tom", pl.col("pfm").cast(pl.Float64)
    )
    joined = first.join(later, _KEYS).join(texts, _KEYS)
    return joined.sort(_KEYS)
