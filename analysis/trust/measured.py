"""All figures of a labelled matrix: every score side by side, calibration, curves, certificates.

Scores that are learned are cross-validated by problem. The benchmark and the command share this.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.trust.calibration import reliability
from analysis.trust.certify import Certificate, certify_threshold
from analysis.trust.curves import precision_by_recall, risk_by_coverage
from analysis.trust.evaluate import Evaluation, compare, evaluate
from analysis.trust.features import choose_features
from analysis.trust.figures import Figure, draw_problems
from analysis.trust.models import FOLDS, Model, TwoStageModel
from analysis.trust.report import (
    render_bins,
    render_calibration,
    render_curve,
    render_differences,
    render_scores,
)
from analysis.trust.rows import evaluate_all
from analysis.trust.selection import select

Vector = npt.NDArray[np.float64]
BEST = "all, two-stage"
GIVEN = "the given model"
ALONE = "no relations, two-stage"
TARGETS = (0.1, 0.2, 0.3)
"""Shares of wrong answers for which a threshold is looked for."""


@dataclass(frozen=True)
class Measured:
    """Every score's figures, in the order of the report, and what could not be measured."""

    scores: Mapping[str, Evaluation]
    certificates: tuple[Certificate, ...]
    why_not: str | None
    """Why no model was cross-validated; null if models were."""

    def to_json(self) -> dict[str, Any]:
        """Return the main figures by score."""
        return {name: _figures(each) for name, each in self.scores.items()}


def measure_scores(
    frame: pl.DataFrame,
    *,
    given: Vector | None = None,
    without: Collection[str] = (),
    seeds: Sequence[int] = (0,),
) -> Measured:
    """Measure all scores on labelled samples.

    Args:
        frame: as ``sample_features`` returns it, labelled.
        given: probabilities by a model that was fitted elsewhere, one a row.
        without: groups of features that the models do without.
        seeds: of the cross-validations, whose mean is shown.
    """
    why_not = why_not_validated(frame)
    every = evaluate_all(frame, seeds=() if why_not else seeds, without=without)
    found = {evaluation.name: evaluation for evaluation in every}
    certificates: tuple[Certificate, ...] = ()
    if given is not None:
        found[GIVEN] = evaluate(GIVEN, frame, [given], probability=True)
        certificates = certify(frame, given)
    elif not why_not:
        certificates = certify_halves(frame, TwoStageModel(choose_features(frame, without=without)))
    return Measured(found, certificates, why_not)


def why_not_validated(frame: pl.DataFrame) -> str | None:
    """Return why a frame is too small to cross-validate models; null if it is not."""
    by_problem = frame.group_by("problem_id").agg(
        right=pl.col("correct").any(), wrong=(~pl.col("correct")).any()
    )
    problems = by_problem.height
    fewest = min(int(by_problem["right"].sum()), int(by_problem["wrong"].sum()))
    if problems >= 2 * FOLDS and fewest > math.ceil(problems / FOLDS):
        return None
    return (
        f"models are not cross-validated: of {problems} problems {by_problem['right'].sum()} have "
        f"right programs and {by_problem['wrong'].sum()} wrong ones; {2 * FOLDS} are needed, and "
        f"more than 1 in {FOLDS} of both"
    )


def certify(frame: pl.DataFrame, score: Vector) -> tuple[Certificate, ...]:
    """Look for thresholds of scores that were not fitted on these problems."""
    chosen = select(frame.with_columns(score=score), "score")
    right = chosen.top_right >= 1.0
    return tuple(certify_threshold(chosen.best, right, target=target) for target in TARGETS)


def certify_halves(frame: pl.DataFrame, model: Model) -> tuple[Certificate, ...]:
    """Fit on one half of the problems, look for thresholds on the other."""
    problems = frame["problem_id"].unique(maintain_order=True).shuffle(seed=0)
    fitting = pl.col("problem_id").is_in(problems.head(len(problems) // 2).implode())
    half, rest = frame.filter(fitting), frame.filter(~fitting)
    if half["correct"].n_unique() < 2:
        return ()
    return certify(rest, model.fit(half).predict(rest))


def differences(scores: Mapping[str, Evaluation]) -> list[tuple[str, str, Figure, Figure]]:
    """Return paired differences of the best model, and of the one without relations."""
    pairs = [(BEST, other) for other in ("CodeT", "B4", "paper", ALONE, "all, pooled")]
    pairs += [(ALONE, "CodeT"), ("paper", "CodeT"), (GIVEN, "B4"), (GIVEN, "random")]
    there = [(one, other) for one, other in pairs if one in scores and other in scores]
    return [(one, other, *compare(scores[one], scores[other])) for one, other in there]


def render_measured(measured: Measured) -> Iterator[str]:
    """Yield the tables, as plain text."""
    scores = list(measured.scores.values())
    yield render_scores(scores)
    if any(each.program_figures for each in scores):
        yield render_calibration(scores)
    yield render_differences(differences(measured.scores))
    if measured.why_not:
        yield measured.why_not
    yield "\n".join(map(str, measured.certificates))


def render_reliability(name: str, scored: pl.DataFrame) -> Iterator[str]:
    """Yield reliability of all programs and of chosen ones, and risk against coverage.

    Args:
        name: of the score.
        scored: labelled samples with ``score``, a probability.
    """
    chosen = select(scored, "score")
    right = scored["correct"].cast(pl.Float64).to_numpy()
    draws = draw_problems(len(chosen.best), 0)
    bins = render_bins(reliability(scored["score"].to_numpy(), right))
    yield f"reliability of {name}, all programs\n{bins}"
    bins = render_bins(reliability(chosen.best, chosen.top_right))
    yield f"of the chosen program of each problem\n{bins}"
    yield render_curve("precision by recall", precision_by_recall(chosen, draws))
    yield render_curve("wrong answers by coverage", risk_by_coverage(chosen, draws))


def _figures(evaluation: Evaluation) -> dict[str, Any]:
    figures = {f"pass@{k}": figure for k, figure in evaluation.pass_at.items()}
    figures |= {
        "pr_auc": evaluation.area,
        "max_f1": evaluation.max_f1,
        "recall_at_precision_90": evaluation.recall_at_90,
        "auroc": evaluation.auroc,
    }
    figures |= {f"programs/{name}": f for name, f in evaluation.program_figures.items()}
    figures |= {f"chosen/{name}": f for name, f in evaluation.chosen_figures.items()}
    return {name: {"value": f.value, "low": f.low, "high": f.high} for name, f in figures.items()}
