"""The commands around stored results: ``rescore``, ``compare``, ``correlate``."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from conf import UserError
from pipeline.commands import Command
from pipeline.fetching import fetch_run
from pipeline.words import Words, read_words

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType


def _rescore(words: list[str]) -> int:
    keys = {"scoring": "strict", "judge": "false"}
    given = read_words("rescore", words, places=["FILE|RUN"], keys=keys)
    path, scoring = fetch_run(given.places[0]), given.keys["scoring"]
    if path.is_dir():
        if given.flag("judge"):
            raise UserError("judge=true is for recorded files; a run's programs have been judged")
        _rescore_run(path, scoring)
    elif given.flag("judge"):
        _rejudge_file(path, scoring)
    else:
        from analysis import render_rescore, rescore

        _print(render_rescore(rescore(path, scoring)))
    return 0


def _rescore_run(path: Path, scoring: str) -> None:
    from analysis import render_report, render_rescore, rescore_chains, retell_run, rules_of
    from pipeline.display import plain_text
    from pipeline.scores import score_run
    from pipeline.stored_run import read_stored, show_texts

    rules_of(scoring)
    run = read_stored(path)
    if scoring == "strict":
        metrics = score_run(run.tables, run.config)
        _show(render_report(metrics, {"tables": path}))
        return
    problems = run.problems()
    names = {key: problem["entry_point"] for key, problem in problems.items()}
    chains = retell_run(show_texts(run.tables, problems), names, plain_text)
    _print(render_rescore(rescore_chains(str(path), chains, scoring, seed=run.config.seed)))


def _rejudge_file(path: Path, scoring: str) -> None:
    from analysis import render_rescore, rescore_chains, rules_of
    from analysis.rejudged import compare_results, render_agreement
    from pipeline.rejudge import rejudge
    from sandbox import Sandbox

    rules_of(scoring)
    with Sandbox() as sandbox:
        pairs = list(rejudge(path, sandbox))
    _print([*render_agreement(compare_results(pairs)), ""])
    ours = (chain for _, chain in pairs)
    _print(render_rescore(rescore_chains(f"{path.name}, judged again", ours, scoring)))


def _compare(words: list[str]) -> int:
    from analysis import Run, compare_runs, render_comparison
    from pipeline.stored_run import read_stored

    keys = {"allow_different": "false"}
    given = read_words("compare", words, places=["RUN_A", "RUN_B"], keys=keys, more=True)
    paths = [fetch_run(place) for place in given.places]
    stored = [read_stored(path) for path in paths]
    runs = [
        Run(name, run.tables, run.scoring)
        for name, run in zip(_short_names(paths), stored, strict=True)
    ]
    found = compare_runs(runs, allow_different=given.flag("allow_different"))
    _show(render_comparison(found))
    return 0


def _correlate(words: list[str]) -> int:
    from analysis import correlate, read_labels, render_correlations

    keys = {"step": "1", "scoring": "strict"}
    given = read_words("correlate", words, places=["FILE|RUN", "LABELS.csv"], keys=keys)
    path, labels = fetch_run(given.places[0]), Path(given.places[1])
    wanted = read_labels(labels)
    scores = _run_scores(path, given) if path.is_dir() else _recorded_scores(path, given)
    _show(render_correlations(correlate(scores, wanted)))
    return 0


def _run_scores(path: Path, given: Words) -> "pl.DataFrame":
    from analysis import run_scores
    from pipeline.stored_run import first_texts, read_stored, show_texts

    if given.keys["scoring"] != "strict":
        raise UserError("scoring= is for recorded files; a run has scoring=strict")
    run, step = read_stored(path), given.count("step")
    if step > run.config.chain.length:
        raise UserError(f"step={step}: the run has {run.config.chain.length} steps")
    shown = show_texts(run.tables, run.problems())
    return run_scores(shown, first_texts(shown), step=step)


def _recorded_scores(path: Path, given: Words) -> "pl.DataFrame":
    from analysis import read_recorded, recorded_scores, rules_of

    rules, step = rules_of(given.keys["scoring"]), given.count("step")
    chains = list(read_recorded(path))
    if all(len(chain.steps) <= step for chain in chains):
        raise UserError(f"step={step}: no chain of {path} has that step")
    return recorded_scores(chains, rules, step=step)


def _short_names(paths: Sequence[Path]) -> list[str]:
    """Name runs by their folders, unless two have the same."""
    names = [path.resolve().name for path in paths]
    return names if len(set(names)) == len(names) else list(map(str, paths))


def _show(renderable: "RenderableType") -> None:
    from rich.console import Console

    Console(highlight=False, soft_wrap=not sys.stdout.isatty()).print(renderable)


def _print(lines: Sequence[str]) -> None:
    print("\n".join(lines))


STORED_COMMANDS = {
    "rescore": Command(
        "score recorded chains or a run again",
        """usage: ./launch.sh rescore FILE|RUN [scoring=strict|reference] [judge=true]

FILE is a record of the IdentityChain release (.jsonl, .jsonl.gz), RUN a run folder.

  scoring=strict     our rules (docs/scoring.md); for a FILE also each value that they change
  scoring=reference  the release's rules, for comparison with published numbers
  judge=true         run FILE's programs again in the sandbox, half a CPU second a test, compare
                     each result with the recorded one, and score what came of it""",
        _rescore,
    ),
    "compare": Command(
        "say whether runs differ, problem by problem",
        """usage: ./launch.sh compare RUN_A RUN_B [...] [allow_different=true]

Compares every run with RUN_A: for each score the paired difference with its 95 % interval, exact
McNemar on verdicts, the problems that flipped, and whether there are enough problems to tell.

Runs on other problems or with other scoring are refused; allow_different=true compares them on
the problems that they have in common.""",
        _compare,
    ),
    "correlate": Command(
        "correlate every metric with given labels",
        """usage: ./launch.sh correlate RUN|FILE LABELS.csv [step=1] [scoring=strict|reference]

Pearson, Spearman and Kendall of TOM, P/FM and the text metrics of one step with the labels, over
all chains, and apart for those whose first program passes and fails. Undefined ones say why.

LABELS.csv has the columns problem_id and label (a number, true or false), and sample where a
problem has several chains. scoring= is for a recorded FILE. Needs the extra `metrics`.""",
        _correlate,
    ),
}
