"""What a trust run comes to: answers from its tables, and the model that it may fit."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from threadpoolctl import threadpool_limits

from analysis.tables import RunTables, read_run
from analysis.trust.answer_report import render_answers
from analysis.trust.answers import answer_problems, score_samples, summarize
from analysis.trust.features import GROUPS, choose_features
from analysis.trust.keeping import KeptModel
from analysis.trust.measured import (
    GIVEN,
    Measured,
    measure_scores,
    render_measured,
    render_reliability,
)
from analysis.trust.roundtrip_figures import relate_round_trips
from analysis.trust.scores_report import render_brief
from analysis.trust.tables import read_matrix
from conf import RunConfig, UserError
from pipeline.fetching import fetch_run
from pipeline.runfolder import write_parquet
from pipeline.trust.explaining import explain_answers
from pipeline.trust.folder import TrustFolder


@dataclass(frozen=True)
class Results:
    """What the results need beside the tables, found before anything starts."""

    model: KeptModel | None
    fit: Path | None
    chains: RunTables | None = None


def check_results(config: RunConfig) -> Results:
    """Load the model that scores, and see that the one to fit can be written.

    Raises:
        UserError: a file is missing, is no model, or is in the way.
    """
    trust = config.trust
    model = KeptModel.load(Path(trust.model)) if trust.model else None
    fit = Path(trust.fit) if trust.fit else None
    if unknown := sorted(set(trust.without) - set(GROUPS)):
        raise UserError(
            f"trust.without: no group of features is called {', '.join(map(repr, unknown))}; "
            f"possible: {', '.join(GROUPS)}"
        )
    if fit and fit.exists():
        raise UserError(f"trust.fit={fit}: is there already; choose another name")
    if fit and not fit.parent.is_dir():
        raise UserError(f"trust.fit={fit}: there is no folder {fit.parent}")
    return Results(model, fit, _chains(fetch_run(trust.chains)) if trust.chains else None)


def _chains(folder: Path) -> RunTables:
    if not any((folder / "chains").glob("*.parquet")):
        raise UserError(f"trust.chains={folder}: there are no finished chains; give a chain run")
    return read_run(folder)


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
    scored = score_samples(tables, results.model, results.chains)
    threshold = config.trust.threshold if results.model else None
    answers = answer_problems(tables, scored, threshold=threshold)
    made = folder.write_json("answers.json", answers.to_dicts())
    explanations = explain_answers(tables, scored, answers, most=config.trust.explained)
    explained = folder.path / "explanations.parquet"
    write_parquet(explanations.to_arrow(), explained)
    measured = _measure(scored, config, results)
    metrics = {"job": "trust", **summarize(answers), "partial": stopped}
    if measured:
        metrics |= {"scores": measured.to_json()}
    trips = relate_round_trips(scored) if results.chains else None
    if trips:
        metrics |= {"round_trip": asdict(trips)}
    figures = folder.write_json("metrics.json", metrics)
    files = {
        "tables": folder.shown(),
        "answers": folder.shown(made.name),
        "explained": folder.shown(explained.name),
        "figures": folder.shown(figures.name),
        "made of": folder.shown("manifest.json"),
        "log": folder.shown("run.log"),
    }
    if measured:
        files["scores"] = folder.shown(_write_scores(folder, scored, results, measured).name)
    notes = tuple(_notes(scored, config, results))
    shown = config.trust.shown
    console.print(
        render_answers(
            answers, explanations, problems, tables.specs, files, shown=shown, notes=notes
        )
    )
    if measured:
        console.print(render_brief(measured))
    if trips:
        console.print("\n".join(trips.lines()), markup=False, highlight=False)
    return metrics


def _measure(scored: pl.DataFrame, config: RunConfig, results: Results) -> Measured | None:
    """Measure all scores where it is known which programs are right."""
    labelled = scored.filter(pl.col("correct").is_not_null())
    if not config.trust.measure or not labelled.height:
        return None
    given = labelled["score"].to_numpy() if results.model else None
    with threadpool_limits(1):  # threads that wait for each other gain nothing on small matrices
        return measure_scores(labelled, given=given, without=config.trust.without)


def _write_scores(
    folder: TrustFolder, scored: pl.DataFrame, results: Results, measured: Measured
) -> Path:
    """Write all tables of the measurement as text."""
    parts = list(render_measured(measured))
    if results.model:
        labelled = scored.filter(pl.col("correct").is_not_null())
        parts += render_reliability(GIVEN, labelled)
    path = folder.path / "scores.txt"
    path.write_text("\n\n".join(parts) + "\n")
    return path


def _notes(scored: pl.DataFrame, config: RunConfig, results: Results) -> list[str]:
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
        notes.append(_fit(labelled, config, results.model, results.fit))
    return notes


def _fit(labelled: pl.DataFrame, config: RunConfig, model: KeptModel | None, path: Path) -> str:
    """Fit a model on labelled samples, or recalibrate one, and write it."""
    if labelled["correct"].n_unique() < 2:
        return f"no model was fitted to {path}: it needs right and wrong programs, with labels"
    if model is None:
        features = choose_features(labelled, without=config.trust.without)
        KeptModel.fit(config.trust.kind, features, labelled).save(path)
        done = f"({config.trust.kind}) fitted"
    else:
        model.recalibrate(labelled).save(path)
        done = "recalibrated"
    return f"model {done} on {labelled['problem_id'].n_unique()} labelled problems: {path}"
