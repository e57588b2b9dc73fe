"""The scores that a trust report compares: baselines as they are, models cross-validated."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.trust.evaluate import Evaluation, evaluate
from analysis.trust.features import (
    FROM_RELATIONS,
    IO_GROUPS,
    PAPER_GROUPS,
    RELATION_GROUPS,
    choose_features,
)
from analysis.trust.models import (
    BoostedModel,
    Model,
    PooledModel,
    TwoStageModel,
    cross_predict,
)

Vector = npt.NDArray[np.float64]
SEEDS = 5
POOLED_C = 0.003
"""Of the pooled model with many features, which needs a stronger penalty than the paper's few."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A score that is not learned: a column."""

    name: str
    column: str | None
    """None: all programs alike, so that one is chosen at random."""


BASELINES = (
    Baseline("random", None),
    Baseline("most tests passed", "io_held"),
    Baseline("log-probability", "logprob"),
    Baseline("output cluster", "output_cluster"),
    Baseline("soft MBR", "mbr"),
    Baseline("CodeT", "codet"),
    Baseline("B4", "b4"),
    Baseline("relations, strict", "relation_rate"),
    Baseline("relations, soft", "relation_soft"),
)


def learned_models(
    frame: pl.DataFrame, *, without: Collection[str] = ()
) -> dict[str, Callable[[], Model]]:
    """Return the models by name, each with those of its features that the frame has.

    A model that would have no features is left out.

    Args:
        frame: as ``sample_features`` returns it.
        without: groups of features that no model gets.
    """
    logprob = ("log-probability",)
    io = choose_features(frame, (*IO_GROUPS, *logprob), without=without)
    relations = choose_features(frame, (*RELATION_GROUPS, *logprob), without=without)
    paper = choose_features(frame, PAPER_GROUPS, without=without)
    every = choose_features(frame, without=without)
    alone = choose_features(frame, without=(*FROM_RELATIONS, *without))
    models: dict[str, tuple[tuple[str, ...], Callable[[], Model]]] = {
        "IO only (paper)": (io, lambda: PooledModel(io)),
        "relations only (paper)": (relations, lambda: PooledModel(relations)),
        "paper": (paper, lambda: PooledModel(paper)),
        "no relations, two-stage": (alone, lambda: TwoStageModel(alone)),
        "all, pooled": (every, lambda: PooledModel(every, c=POOLED_C)),
        "all, boosted": (every, lambda: BoostedModel(every)),
        "all, two-stage": (every, lambda: TwoStageModel(every)),
    }
    return {name: make for name, (features, make) in models.items() if features}


def evaluate_all(
    frame: pl.DataFrame, *, seeds: Sequence[int] = range(SEEDS), without: Collection[str] = ()
) -> Iterator[Evaluation]:
    """Yield the evaluations of all baselines that have a score, then of all models.

    Args:
        frame: as ``sample_features`` returns it, labelled.
        seeds: of the models' cross-validations; without any, models are left out.
        without: groups of features that no model gets.
    """
    for baseline in BASELINES:
        if baseline.column is None:
            score = np.zeros(frame.height)
        elif frame[baseline.column].null_count() == frame.height:
            continue
        else:
            score = frame[baseline.column].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        yield evaluate(baseline.name, frame, [score], probability=False)
    for name, model in learned_models(frame, without=without).items() if seeds else ():
        scores = [cross_predict(model(), frame, seed=seed) for seed in seeds]
        yield evaluate(name, frame, scores, probability=True)
