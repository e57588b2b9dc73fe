"""A score's figures with intervals; the problem is what was drawn by chance.

Intervals are percentile bootstraps over problems. A learned score may come in several forms, one a
seed of the cross-validation: its figures are means over these, and a resample draws the same
problems for all of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.trust.calibration import Calibration, auroc, measure_calibration
from analysis.trust.calibration_intervals import calibration_figures
from analysis.trust.figures import Figure, draw_problems, figure_of
from analysis.trust.selection import Selection, pass_at, select

Vector = npt.NDArray[np.float64]
AUROC_RESAMPLES = 100
KS = (1, 2, 5, 10)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All figures of one score; those of calibration are of probabilities only."""

    name: str
    pass_at: dict[int, Figure]
    """pass@k,n by k."""
    area: Figure
    max_f1: Figure
    recall_at_90: Figure
    auroc: Figure
    programs: Calibration | None
    """Of all programs."""
    chosen: Calibration | None
    """Of the chosen program of each problem, which is the one that a user sees."""
    program_figures: dict[str, Figure]
    """Calibration of all programs, with intervals."""
    chosen_figures: dict[str, Figure]
    """Calibration of the chosen ones, with intervals."""
    top_right: Vector
    """Chance of each problem's first program to be right, for paired differences."""
    areas: Vector
    """The area of each resample, for paired differences."""


def evaluate(
    name: str, frame: pl.DataFrame, scores: Sequence[Vector], *, probability: bool, seed: int = 0
) -> Evaluation:
    """Return a score's figures.

    Args:
        name: of the score.
        frame: one row a sample, sorted by problem, labelled.
        scores: one or more forms of the score, a value a row; NaN is the worst.
        probability: whether they are probabilities.
        seed: of the resamples; the same draws serve all scores of one frame.
    """
    frames = [_scored(frame, score) for score in scores]
    chosen = [select(each, "score") for each in frames]
    draws = draw_problems(len(chosen[0].best), seed)
    passes = {k: np.mean([pass_at(each, "score", k) for each in frames], axis=0) for k in KS}
    areas = _resampled(chosen, draws, lambda s, d: s.curve(d).area)
    calibrations = [_programs(each) for each in frames] if probability else []
    tops = [measure_calibration(s.best, s.top_right) for s in chosen] if probability else []
    return Evaluation(
        name=name,
        pass_at={
            k: figure_of(values.mean(), _means(values, draws)) for k, values in passes.items()
        },
        area=figure_of(_mean([s.curve().area for s in chosen]), areas),
        max_f1=figure_of(
            _mean([s.curve().max_f1 for s in chosen]),
            _resampled(chosen, draws, lambda s, d: s.curve(d).max_f1),
        ),
        recall_at_90=figure_of(
            _mean([s.curve().recall_at(0.9) for s in chosen]),
            _resampled(chosen, draws, lambda s, d: s.curve(d).recall_at(0.9)),
        ),
        auroc=_auroc(frames, draws[:AUROC_RESAMPLES]),
        programs=_average(calibrations),
        chosen=_average(tops),
        program_figures=_program_figures(frames, draws) if probability else {},
        chosen_figures=_chosen_figures(chosen, draws) if probability else {},
        top_right=np.mean([s.top_right for s in chosen], axis=0),
        areas=areas,
    )


def compare(one: Evaluation, other: Evaluation, *, seed: int = 0) -> tuple[Figure, Figure]:
    """Return the differences of pass@1 and of the area, paired by problem."""
    difference = one.top_right - other.top_right
    draws = draw_problems(len(difference), seed)
    at_one = figure_of(difference.mean(), _means(difference, draws))
    if one.area.value is None or other.area.value is None:
        return at_one, Figure(None)
    return at_one, figure_of(one.area.value - other.area.value, one.areas - other.areas)


def _scored(frame: pl.DataFrame, score: Vector) -> pl.DataFrame:
    column = pl.Series("score", score, dtype=pl.Float64).fill_nan(None)
    return frame.select("problem_id", "correct").with_columns(column)


def _means(values: Vector, draws: npt.NDArray[np.int64]) -> Vector:
    means: Vector = np.asarray(draws @ values / len(values))
    return means


def _resampled(
    chosen: Sequence[Selection],
    draws: npt.NDArray[np.int64],
    figure: Callable[[Selection, npt.NDArray[np.int64]], float | None],
) -> Vector:
    """Return the figure of each resample, mean over the forms; NaN where undefined."""
    values = [[figure(each, draw) for each in chosen] for draw in draws]
    means: Vector = np.array(values, dtype=float).mean(axis=1)
    return means


def _auroc(frames: Sequence[pl.DataFrame], draws: npt.NDArray[np.int64]) -> Figure:
    number = frames[0]["problem_id"].rle_id().to_numpy()
    right = frames[0]["correct"].cast(pl.Float64).to_numpy()
    ranks = [frame["score"].fill_null(float("-inf")).rank("dense").to_numpy() for frame in frames]
    values = [auroc(each.astype(float), right) for each in ranks]
    resampled = [auroc(ranks[0].astype(float), right, draw[number].astype(float)) for draw in draws]
    return figure_of(_mean(values), np.array(resampled, dtype=float))


def _programs(frame: pl.DataFrame) -> Calibration:
    right = frame["correct"].cast(pl.Float64).to_numpy()
    return measure_calibration(frame["score"].to_numpy(), right)


def _program_figures(
    frames: Sequence[pl.DataFrame], draws: npt.NDArray[np.int64]
) -> dict[str, Figure]:
    right = frames[0]["correct"].cast(pl.Float64).to_numpy()
    forms = [(frame["score"].to_numpy(), right) for frame in frames]
    problem = frames[0]["problem_id"].rle_id().to_numpy().astype(np.int64)
    return calibration_figures(forms, problem, draws)


def _chosen_figures(chosen: Sequence[Selection], draws: npt.NDArray[np.int64]) -> dict[str, Figure]:
    forms = [(each.best, each.top_right) for each in chosen]
    return calibration_figures(forms, np.arange(len(chosen[0].best)), draws)


def _average(parts: Sequence[Calibration]) -> Calibration | None:
    if not parts:
        return None
    names = [name for name in Calibration.__slots__ if name != "n"]
    means = {name: _mean([getattr(part, name) for part in parts]) for name in names}
    return Calibration(n=parts[0].n, **means)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None
