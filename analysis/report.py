"""A chain run's scores for the terminal: pure, from metrics to renderables.

Plain ASCII apart from rules that rich replaces where they cannot be shown; nothing needs colour to
be understood, and the widest table fits 80 columns.
"""

from collections.abc import Mapping

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from analysis.intervals import Estimate
from analysis.metrics import ChainMetrics
from analysis.tables import MODEL_FAILURES

_REASONS = {
    "length": "made every step",
    "fixed_point": "repeats itself: all later steps are known",
    "cycle": "runs in a circle: all later steps are known",
    "decided": "outputs differed, so SC is settled",
    "unparsable": "the model gave nothing usable: counts as a miss",
    "truncated": "the token limit came first: counts as a miss",
    "prompt_too_long": "beyond the context: not counted from there on",
    "engine_error": "no answer: not counted from there on",
    "harness": "the judge failed: not counted from there on",
    "not_recorded": "not in the replayed journal: not counted from there on",
}
_METHODS = {
    "exact": "Clopper-Pearson",
    "wilson": "Wilson",
    "bootstrap": "bootstrap",
}
_AMOUNTS = {
    "requests": "requests",
    "prompt_tokens": "tokens read",
    "completion_tokens": "tokens written",
    "programs": "programs run",
    "cpu_s": "their CPU seconds",
}


def render_report(
    metrics: ChainMetrics, files: Mapping[str, object], *, wall_s: float | None = None
) -> RenderableType:
    """Return what a run prints at its end.

    Args:
        metrics: the scores.
        files: what lies where, by a word or two.
        wall_s: seconds that this run took; null if unknown.
    """
    parts: list[RenderableType] = [_headline(metrics)]
    if metrics.chains:
        parts += [
            _scores(metrics),
            _footnotes(metrics),
            _endings(metrics),
            _spending(metrics),
        ]
    return Group(*parts, *_time(metrics, wall_s), _files(files))


def format_estimate(estimate: Estimate) -> Text:
    """Return ``value low-high`` in per cent, and the denominator in a second line."""
    text = Text(justify="right")
    if estimate.value is None or estimate.low is None or estimate.high is None:
        text.append("-")
    else:
        text.append(f"{100 * estimate.value:.1f}", style="bold")
        text.append(f" {100 * estimate.low:.1f}-{100 * estimate.high:.1f}")
    return text.append(f"\n{estimate.n} of {estimate.of}", style="dim")


def _headline(metrics: ChainMetrics) -> Text:
    return Text(
        f"{metrics.chains} chains of {metrics.problems} problems, {metrics.length} steps each",
        style="bold",
    )


def _scores(metrics: ChainMetrics) -> Table:
    """Step 0 has one score, Pass@1, which is also SSC_0."""
    table = _table("Scores, % with 95 % interval, over how many chains")
    table.add_column("step", justify="right")
    for heading in ("TOM", "SC", "SSC", "P/FM"):
        table.add_column(heading, justify="right", no_wrap=True)
    if 1 in metrics.pass_at:
        table.add_row("0", "", "Pass@1", format_estimate(metrics.pass_at[1]), "")
    for scores in metrics.steps:
        cells = (scores.tom, scores.sc, scores.ssc, scores.pfm)
        table.add_row(str(scores.step), *map(format_estimate, cells))
    if metrics.endless.closed:
        table.add_row("inf", "", format_estimate(metrics.endless.sc), "", "")
    return table


def _footnotes(metrics: ChainMetrics) -> Group:
    lines = [
        "TOM: share of tests with the same output as one step before, mean. SC: chains with "
        "TOM = 1 at every step so far, as in the paper's tables (its text reads SC_1 as the mean, "
        "which is TOM at step 1). SSC: every program so far passes. P/FM: this program and the "
        "one before both pass or both fail.",
    ]
    if metrics.endless.closed:
        lines.append(
            f"inf: the {metrics.endless.closed} chains that repeat for ever, each exact. Over all "
            f"chains SC_inf lies between {_percent(metrics.endless.at_least)} and "
            f"{_percent(metrics.endless.at_most)}."
        )
    if any(ending.reason in ("decided", *MODEL_FAILURES) for ending in metrics.endings):
        lines.append(
            "TOM and P/FM need two programs: they leave out chains that were decided before or "
            "gave no program, so later steps speak of the chains that went on."
        )
    lines += [
        f"pass@{k}: {_percent(estimate)} ({estimate.n} of {estimate.of} chains)."
        for k, estimate in metrics.pass_at.items()
        if k > 1
    ]
    used = sorted({e.method for e in _estimates(metrics) if e.method})
    if used:
        names = ", ".join(_METHODS[method] for method in used)
        lines.append(f"Intervals: {names}; each problem is one draw.")
    return Group(*(Text(line, style="dim") for line in lines))


def _endings(metrics: ChainMetrics) -> Table:
    table = _table("How the chains ended")
    table.add_column("reason", no_wrap=True)
    table.add_column("chains", justify="right")
    table.add_column("mean step", justify="right")
    table.add_column("which means")
    for ending in metrics.endings:
        table.add_row(
            ending.reason,
            f"{ending.chains:,}",
            f"{ending.mean_step:.1f}",
            _REASONS[ending.reason],
        )
    return table


def _spending(metrics: ChainMetrics) -> Table:
    """The saving of decided chains has a column of its own, as it is an estimate."""
    spending = metrics.spending
    guesses = spending.saved_estimate.requests > 0
    table = _table("Spent and saved by early stop")
    for heading in ("", "spent", "saved", *(["saved, about"] if guesses else []), "saved %"):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for name, label in _AMOUNTS.items():
        spent, saved, about = (
            float(getattr(cost, name))
            for cost in (spending.spent, spending.saved, spending.saved_estimate)
        )
        full = spent + saved + about
        share = f"{100 * (saved + about) / full:.1f}" if full else "-"
        amounts = [spent, saved, *([about] if guesses else [])]
        digits = 1 if name == "cpu_s" else 0
        table.add_row(label, *(f"{amount:,.{digits}f}" for amount in amounts), share)
    return table


def _time(metrics: ChainMetrics, wall_s: float | None) -> list[RenderableType]:
    if wall_s is None or wall_s <= 0:
        return []
    minutes, seconds = divmod(round(wall_s), 60)
    rate = metrics.spending.spent.completion_tokens / wall_s
    return [Text(f"\nTook {minutes}:{seconds:02d} minutes, {rate:,.1f} tokens written per second")]


def _files(files: Mapping[str, object]) -> Group:
    """Paths are never cut off: one that is too long goes on in the next line."""
    width = max(map(len, files), default=0)
    return Group(
        *(
            Text(f"{'' if i else chr(10)}{label:<{width}}  {path}", overflow="fold")
            for i, (label, path) in enumerate(files.items())
        )
    )


def _estimates(metrics: ChainMetrics) -> list[Estimate]:
    steps = [e for s in metrics.steps for e in (s.tom, s.sc, s.ssc, s.pfm)]
    return [*metrics.pass_at.values(), *steps, metrics.endless.sc]


def _percent(estimate: Estimate) -> str:
    return "-" if estimate.value is None else f"{100 * estimate.value:.1f} %"


def _table(title: str) -> Table:
    return Table(
        title=f"\n{title}",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
    )
