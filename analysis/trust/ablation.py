"""What each group of features is worth to the best model: with it, minus without it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from analysis.trust.evaluate import Evaluation, compare, evaluate
from analysis.trust.features import GROUPS, PAPER_GROUPS, choose_features
from analysis.trust.figures import Figure
from analysis.trust.models import TwoStageModel, cross_predict


@dataclass(frozen=True, slots=True)
class Gain:
    """Paired differences that a group makes; null where the frame has none of its features."""

    group: str
    last_at_one: Figure
    """Of pass@1: all features, minus all but these."""
    last_area: Figure
    """Of the area under the precision-recall curve, likewise."""
    first_at_one: Figure
    """Of pass@1: the paper's features and these, minus the paper's; null for the paper's own."""
    first_area: Figure


def measure_gains(frame: pl.DataFrame, *, seeds: Sequence[int]) -> Iterator[Gain]:
    """Yield the gain of each group of features, with a two-stage model.

    Args:
        frame: labelled rows, as ``sample_features`` returns them.
        seeds: of the cross-validations, whose mean counts.
    """
    known = [group for group in GROUPS if choose_features(frame, (group,))]
    every, paper = _evaluate(frame, known, seeds), _evaluate(frame, PAPER_GROUPS, seeds)
    for group in GROUPS:
        last = first = (Figure(None), Figure(None))
        if group in known:
            last = compare(every, _evaluate(frame, [g for g in known if g != group], seeds))
        if group in known and group not in PAPER_GROUPS:
            first = compare(_evaluate(frame, (*PAPER_GROUPS, group), seeds), paper)
        yield Gain(group, *last, *first)


def _evaluate(frame: pl.DataFrame, groups: Sequence[str], seeds: Sequence[int]) -> Evaluation:
    model = TwoStageModel(choose_features(frame, groups))
    scores = [cross_predict(model, frame, seed=seed) for seed in seeds]
    return evaluate(" + ".join(groups), frame, scores, probability=False)
