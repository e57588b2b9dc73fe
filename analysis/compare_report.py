"""A comparison of runs for the terminal: pure, from comparisons to renderables."""

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from analysis.compare import ALPHA, Comparison, Finding

SHOWN_PROBLEMS = 8
_NAMES = {"passed": "passed", "tom": "TOM", "sc": "SC", "ssc": "SSC", "pfm": "P/FM"}


def render_comparison(comparisons: Sequence[Comparison]) -> RenderableType:
    """Return what ``compare`` prints: one table for each run against the base run."""
    parts: list[RenderableType] = []
    for comparison in comparisons:
        parts += [
            _headline(comparison),
            _scores(comparison),
            *_findings(comparison),
            *_flips(comparison),
        ]
    count = max((len(comparison.differences) for comparison in comparisons), default=0)
    chance = (
        f"Each score is judged by itself at {100 * ALPHA:g} %: of {count} scores of two equal runs "
        f"about {ALPHA * count:.1f} would seem to differ."
    )
    return Group(*parts, Text(f"\n{chance}", style="dim"))


def score_label(score: str) -> str:
    """Return a score's name as people write it: ``sc_2`` is SC_2, ``passed_0`` is Pass@1."""
    kind, _, step = score.partition("_")
    return "Pass@1" if score == "passed_0" else f"{_NAMES[kind]}_{step}"


def _headline(comparison: Comparison) -> Text:
    text = Text(f"\n{comparison.other} against {comparison.base}", style="bold")
    left_out = f", {comparison.left_out} left out" if comparison.left_out else ""
    counted = f"{comparison.problems} problems of both{left_out}, {comparison.length} steps; in %"
    text.append(f"\n{counted}", style="")
    for note in comparison.notes:
        text.append(f"\nNot alike: {note}", style="")
    return text


def _scores(comparison: Comparison) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("score", no_wrap=True)
    for heading in ("base", "other", "change", "95 %", "p", "n"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("other is", no_wrap=True)
    for item in comparison.differences:
        found = item.difference
        p = "" if item.mcnemar is None else f"{item.mcnemar.p:.3f}"
        table.add_row(
            score_label(item.score),
            _percent(item.base),
            _percent(item.other),
            _signed(found.value),
            f"{_signed(found.low)} {_signed(found.high)}",
            p,
            str(found.n),
            item.finding.value,
        )
    return table


def _findings(comparison: Comparison) -> list[Text]:
    """Say why, where nothing could be told: once for scores with the same reason."""
    reasons: dict[str, list[str]] = {}
    for item in comparison.differences:
        if item.finding in (Finding.OPEN, Finding.SAME):
            reasons.setdefault(item.reason, []).append(score_label(item.score))
    return [Text(f"{', '.join(names)}: {reason}.") for reason, names in reasons.items()]


def _flips(comparison: Comparison) -> list[Text]:
    """Name the problems whose verdict flipped: at step 0, and over the whole length."""
    last = comparison.length
    lines = []
    for item in comparison.differences:
        if item.score in ("passed_0", f"sc_{last}", f"ssc_{last}"):
            for problems, verb in ((item.gained, "gained"), (item.lost, "lost")):
                if problems:
                    lines.append(Text(f"{score_label(item.score)} {verb}: {_list(problems)}"))
    return lines


def _list(problems: tuple[str, ...]) -> str:
    shown = ", ".join(problems[:SHOWN_PROBLEMS])
    rest = len(problems) - SHOWN_PROBLEMS
    return f"{len(problems)} ({shown}{f', and {rest} more' if rest > 0 else ''})"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:+.1f}"
