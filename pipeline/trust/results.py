"""What a trust run comes to: answers from its tables, and the model that it may fit."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from analysis.trust.answer_report import render_answers
from analysis.trust.answers import answer_problems, score_samples, summarize
from analysis.trust.features import choose_features
from analysis.trust.keeping import KeptModel
from analysis.trust.tables import read_matrix
from conf import RunConfig, UserError
from pipeline.runfolder import write_parquet
from pipeline.trust.explaining import explain_answers
from pipeline.trust.folder import TrustFolder


@dataclass(frozen=True)
class Results:
    """What the results need beside the tables, found before anything starts."""

    model: KeptModel | None
    fit: Path | None


def check_results(config: RunConfig) -> Results:
    """Load the model that scores, and see that the one to fit can be written.

    Raises:
        UserError: a file is missing, is no model, or is in the way.
    """
    trust = config.trust
    model = KeptModel.load(Path(trust.model)) if trust.model else None
    fit = Path(trust.fit) if trust.fit else None
    if fit and fit.exists():
        raise UserError(f"trust.fit={fit}: is there already; choose another name")
    if fit and not fit.parent.is_dir():
        raise UserError(f"trust.fit={fit}: there is no folder {fit.parent}")
    return Results(model, fit)


def show_results(
    folder: TrustFolder,
    config: RunConfig,
    results: Results,
    console: Console,
    *,
    stopped: str | None = None,
) -> dict[str, Any] | None:
    """Write ``answers.json`` and ``metrics.json``, show them, and fit a model if one is wanted.

    Args:
        folder: of the run.
        config: of the run.
        results: what they need beside the tables.
        console: where they are shown.
        stopped: why the run is not complete; null if it is.

    Returns:
        What stands in ``metrics.json``; null where no problem is finished.

    Raises:
        UserError: the engine has not answered about any problem.
    """
    if not any((folder.path / "problems").glob("*.parquet")):
        console.print("no problem is finished yet", markup=False)
        return None
    problems = pl.read_parquet(folder.path / "problems" / "*.parquet")
    if not problems["stop_reason"].null_count():
        raise UserError(f"no problem has programs: {problems['message'][0]}")
    tables = read_matrix(folder.path)
    scored = score_samples(tables, results.model)
    threshold = config.trust.threshold if results.model else None
    answers = answer_problems(tables, scored, threshold=threshold)
    made = folder.write_json("answers.json", answers.to_dicts())
    explanations = explain_answers(tables, scored, answers, most=config.trust.explained)
    explained = folder.path / "explanations.parquet"
    write_parquet(explanations.to_arrow(), explained)
    metrics = {"job": "trust", **summarize(answers), "partial": stopped}
    figures = folder.write_json("metrics.json", metrics)
    files = {
        "tables": folder.path,
        "answers": made,
        "explained": explained,
        "figures": figures,
        "made of": folder.path / "manifest.json",
        "log": folder.path / "run.log",
    }
    notes = tuple(_notes(scored, results))
    shown = config.trust.shown
    console.print(render_answers(answers, explanations, problems, files, shown=shown, notes=notes))
    return metrics


def _notes(scored: pl.DataFrame, results: Results) -> list[str]:
    labelled = scored.filter(pl.col("correct").is_not_null())
    notes = []
    if results.model and labelled.height and (warning := results.model.drift(labelled)):
        notes.append(f"warning: {warning}")
    if results.model is None:
        notes.append(
            "no model was given, so there is no probability and nothing is declined; programs are "
            "ranked by agreement (B4). trust.model=FILE gives one, trust.fit=FILE makes one."
        )
    if results.fit:
        notes.append(_fit(labelled, results.model, results.fit))
    return notes


def _fit(labelled: pl.DataFrame, model: KeptModel | None, path: Path) -> str:
    """Fit a model on labelled samples, or recalibrate one, and write it."""
    if labelled["correct"].n_unique() < 2:
        return f"no model was fitted to {path}: it needs right and wrong programs, with labels"
    if model is None:
        KeptModel.fit("two_stage", choose_features(labelled), labelled).save(path)
        done = "fitted"
    else:
        model.recalibrate(labelled).save(path)
        done = "recalibrated"
    return f"model {done} on {labelled['problem_id'].n_unique()} labelled problems: {path}"
