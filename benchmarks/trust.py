"""How well the trust job tells right programs from wrong ones, beside what others do.

Builds the program-spec matrix of stored samples in the layout of the CodeT release, or goes on with
one, and prints every score with its interval, what shown specs are worth as evidence, and how the
figures compare with known values.

    python -m benchmarks.trust MATRIX [--samples FOLDER] [--programs codegen16b] [--most 100]
        [--gains] [--transfer OTHER_MATRIX]

Without --samples the matrix must be complete. Building runs untrusted programs, in the sandbox.
With --gains, also what each group of features is worth; with --transfer, what a model that was
fitted on another matrix is worth on this one.
"""

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from analysis.trust.ablation import measure_gains
from analysis.trust.calibration import measure_calibration
from analysis.trust.evaluate import Evaluation
from analysis.trust.explain import CRITERIA
from analysis.trust.explain_scores import score_explanations
from analysis.trust.features import choose_features, sample_features
from analysis.trust.keeping import KeptModel
from analysis.trust.measured import BEST, measure_scores, render_measured, render_reliability
from analysis.trust.models import TwoStageModel, cross_predict
from analysis.trust.report import render_explanations, render_gains
from analysis.trust.selection import select
from analysis.trust.tables import TrustTables, read_matrix
from benchmarks.machine import describe_machine
from conf import UserError
from pipeline.trust.build import build_matrix, built_cost
from pipeline.trust.codet import CodetChoice, describe_codet, read_codet

VALIDATIONS = 5
"""Cross-validations of which a score's figures are the mean."""
SEEDS = 2
"""Cross-validations of which a feature's gain is the mean."""
RECALIBRATED = 20
"""Labelled problems of a transfer."""
TRANSFERS = 10
"""Draws of these problems, whose mean is printed."""


@dataclass(frozen=True, slots=True)
class Known:
    """A figure that must come out, on the CodeT slice with CodeGen-16B programs."""

    score: str
    figure: str
    value: float
    within: float | None
    """None: the value is a bound, upper for ECE and lower for all others."""


KNOWN = {
    "codegen16b": (
        Known("random", "pass@1", 0.220, 0.005),
        Known("CodeT", "pass@1", 0.372, 0.005),
        Known("B4", "pass@1", 0.420, 0.01),
        Known("paper", "pass@1", 0.398, 0.02),
        Known("paper", "PR-AUC", 0.346, 0.02),
        Known("paper", "AUROC", 0.899, 0.02),
        Known(BEST, "pass@1", 0.46, None),
        Known(BEST, "PR-AUC", 0.45, None),
        Known(BEST, "AUROC", 0.94, None),
        Known(BEST, "ECE", 0.035, None),
    ),
    "gpt35": (Known("no relations, two-stage", "pass@1", 0.79, None),),
}
ORACLE = {"codegen16b": 0.738}


def main() -> None:
    """Build or read the matrix and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("matrix", type=Path, help="folder of the matrix")
    parser.add_argument("--samples", type=Path, help="folder of stored samples")
    parser.add_argument("--programs", default="codegen16b", help="whose programs")
    parser.add_argument("--most", type=int, default=100, help="programs a problem")
    parser.add_argument("--workers", type=int, default=2, help="processes that build")
    parser.add_argument("--gains", action="store_true", help="what features are worth")
    parser.add_argument("--transfer", type=Path, help="matrix to fit on")
    options = parser.parse_args()
    try:
        if options.samples:
            build(options)
        # Threads that wait for each other gain nothing on matrices this small.
        with threadpool_limits(1):
            report(options.matrix, options.programs)
            if options.gains:
                gains = measure_gains(_labelled(read_matrix(options.matrix)), seeds=range(SEEDS))
                print(f"\n{render_gains(list(gains))}")
            if options.transfer:
                print_transfer(
                    *map(_labelled, map(read_matrix, (options.transfer, options.matrix)))
                )
    except UserError as error:
        parser.exit(2, f"{error}\n")


def build(options: argparse.Namespace) -> None:
    """Build what is missing of the matrix."""
    choice = CodetChoice(options.samples, programs=options.programs, most_programs=options.most)
    started = time.perf_counter()
    for cost in build_matrix(
        read_codet(choice),
        options.matrix,
        made_of=describe_codet(choice),
        workers=options.workers,
    ):
        print(f"{time.perf_counter() - started:7.0f} s  {cost}", flush=True)


def report(matrix: Path, programs: str) -> None:
    """Print all tables."""
    tables = read_matrix(matrix)
    frame = _labelled(tables)
    solvable = float(select(frame.with_columns(zero=0.0), "zero").solvable.mean())
    right = float(frame["correct"].to_numpy().mean())
    print(describe_machine())
    print_cost(matrix)
    print(
        f"{frame['problem_id'].n_unique()} problems, {frame.height:,} programs "
        f"({tables.sampled.height:,} distinct), right {right:.3f}, "
        f"oracle {solvable:.3f}\n"
    )
    measured = measure_scores(frame, seeds=range(VALIDATIONS))
    scored = frame.with_columns(score=cross_predict(_best(frame), frame))
    for part in (*render_measured(measured), *render_reliability(BEST, scored)):
        print(part, "\n")
    print_explanations(tables, scored)
    print_known(measured.scores, programs, solvable)


def print_cost(matrix: Path) -> None:
    """Print what building the matrix took."""
    cost = built_cost(matrix)
    print(
        f"matrix: {cost.programs:,} programs, {cost.cells:,} cells, {cost.relation_checks:,} "
        f"relation checks ({cost.relation_runs:,} run) in {cost.cpu_s:,.0f} CPU s; "
        f"{cost.cpu_s / cost.programs:.3f} CPU s a program; a CPU second: "
        f"{cost.programs / cost.cpu_s:.1f} programs, {cost.cells / cost.cpu_s:,.0f} cells, "
        f"{cost.relation_checks / cost.cpu_s:,.0f} relation checks"
    )


def print_explanations(tables: TrustTables, scored: pl.DataFrame) -> None:
    """Print what the specs that each criterion shows first are worth as evidence."""
    scores = {
        (kind or "both", shown, name): score_explanations(
            tables, scored, criterion, kind=kind, shown=shown
        )
        for kind in ("io", "relation", None)
        for shown in (1, 3)
        for name, criterion in CRITERIA.items()
    }
    print(render_explanations(scores), "\n")


def print_transfer(fitting: pl.DataFrame, frame: pl.DataFrame) -> None:
    """Print what a model of other programs is worth here, before and after recalibration."""
    features = tuple(f for f in choose_features(fitting) if f in choose_features(frame))
    for kind in ("pooled", "two_stage", "boosted"):
        model = KeptModel.fit(kind, features, fitting)
        print(f"\n{kind}: {model.drift(frame) or 'no drift of the base rate'}")
        splits = [_split(frame, seed) for seed in range(TRANSFERS)]
        kept = [_worth(model, rest) for _, rest in splits]
        again = [_worth(model.recalibrate(few), rest) for few, rest in splits]
        for name, figures in (("as it is", kept), ("recalibrated", again)):
            top, area, ece, skill = np.array(figures, dtype=float).mean(axis=0)
            print(f"  {name:<14}pass@1 {top:.3f}  AUROC {area:.3f}", end="  ")
            print(f"ECE {ece:.3f}  skill {skill:.3f}")


def _split(frame: pl.DataFrame, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a few problems to recalibrate on, and the rest."""
    problems = frame["problem_id"].unique(maintain_order=True).shuffle(seed=seed)
    few = pl.col("problem_id").is_in(problems.head(RECALIBRATED).implode())
    return frame.filter(few), frame.filter(~few)


def _worth(model: KeptModel, frame: pl.DataFrame) -> tuple[float | None, ...]:
    score = model.predict(frame)
    found = measure_calibration(score, frame["correct"].cast(pl.Float64).to_numpy())
    top = float(select(frame.with_columns(score=score), "score").top_right.mean())
    return top, found.auroc, found.ece, found.skill


def _labelled(tables: TrustTables) -> pl.DataFrame:
    return sample_features(tables).filter(pl.col("correct").is_not_null())


def _best(frame: pl.DataFrame) -> TwoStageModel:
    return TwoStageModel(choose_features(frame))


def print_known(by_name: Mapping[str, Evaluation], programs: str, solvable: float) -> None:
    """Print each known figure beside ours."""
    if programs in ORACLE:
        _print_known("oracle", "pass@100", solvable, ORACLE[programs], 0.005)
    for known in KNOWN.get(programs, ()):
        evaluation = by_name[known.score]
        figures = {
            "pass@1": evaluation.pass_at[1].value,
            "PR-AUC": evaluation.area.value,
            "AUROC": evaluation.auroc.value,
            "ECE": evaluation.programs.ece if evaluation.programs else None,
        }
        _print_known(known.score, known.figure, figures[known.figure], known.value, known.within)


def _print_known(
    score: str, figure: str, ours: float | None, value: float, within: float | None
) -> None:
    upper = figure == "ECE"
    bound = f"within {within}" if within else ("at most" if upper else "at least")
    met = ours is not None and (
        abs(ours - value) <= within if within else (ours <= value if upper else ours >= value)
    )
    shown = "-" if ours is None else f"{ours:.3f}"
    verdict = "met" if met else "NOT MET"
    print(f"{score:<26}{figure:<10}{shown}  known {value:.3f} {bound:<14}{verdict}")


if __name__ == "__main__":
    main()
