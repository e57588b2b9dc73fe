"""The scores of a sweep's points in one table, for the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

_HEADINGS = ("chains", "step", "Pass@1", "TOM", "SC", "SSC")
_SCORES = ("tom", "sc", "ssc")


def render_sweep(points: Sequence[Mapping[str, Any]], folder: str) -> RenderableType:
    """Return what a sweep prints at its end.

    Args:
        points: as in ``results.json``: ``name``, ``chosen`` (key to value), ``failure`` and
            ``metrics``, the content of the point's metrics.json or null.
        folder: of the sweep.
    """
    keys = list(dict.fromkeys(key for point in points for key in point["chosen"]))
    table = Table(
        title="\nScores at each point's last step, % over their 95 % interval",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
    )
    for key in keys or ["point"]:
        table.add_column(key.rpartition(".")[2], overflow="fold")
    for heading in _HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    for point in points:
        told = [point["chosen"][key] for key in keys] or [point["name"]]
        # As Text: in a string, rich takes [a,b] for markup.
        table.add_row(*map(Text, told), *_cells(point["metrics"]))
    return Group(table, *_failures(points), Text(f"\nsweep  {folder}", overflow="fold"))


def _cells(metrics: Mapping[str, Any] | None) -> list[Text]:
    if metrics is None:
        return [Text("-") for _ in _HEADINGS]
    last = metrics["steps"][-1]
    partial = " partial" if metrics.get("partial") else ""
    counts = [Text(f"{metrics['chains']:,}{partial}"), Text(str(last["step"]))]
    scores = [metrics["pass_at"].get("1"), *(last[name] for name in _SCORES)]
    return [*counts, *map(_estimate, scores)]


def _estimate(score: Mapping[str, Any] | None) -> Text:
    if score is None or score["value"] is None:
        return Text("-")
    text = Text(f"{100 * score['value']:.1f}", style="bold")
    return text.append(f"\n{100 * score['low']:.1f}-{100 * score['high']:.1f}", style="dim")


def _failures(points: Sequence[Mapping[str, Any]]) -> list[Text]:
    lines = []
    for point in points:
        partial = (point["metrics"] or {}).get("partial")
        why = point["failure"] or (partial and partial["reason"])
        if why:
            lines.append(Text(f"not finished: {point['name']}: {why}", overflow="fold"))
    return lines
