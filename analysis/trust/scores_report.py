"""What was measured, for the terminal: one line a score, and what may be promised."""

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from analysis.trust.figures import Figure
from analysis.trust.measured import Measured


def render_brief(measured: Measured) -> RenderableType:
    """Return the main figures of each score; ``scores.txt`` has them all."""
    table = Table(box=box.HORIZONTALS, title="Scores", title_justify="left", padding=(0, 1, 0, 0))
    table.add_column("score", no_wrap=True)
    for name in ("pass@1", "PR-AUC", "AUROC", "ECE", "ECE\nchosen"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, score in measured.scores.items():
        numbers = (
            score.auroc,
            score.program_figures.get("ece"),
            score.chosen_figures.get("ece"),
        )
        with_ends = map(_interval, (score.pass_at[1], score.area))
        table.add_row(name, *with_ends, *map(_number, numbers))
    lines = [measured.why_not] if measured.why_not else []
    lines += map(str, measured.certificates)
    return Group(table, *map(Text, lines))


def _number(figure: Figure | None) -> str:
    return "-" if figure is None or figure.value is None else _short(figure.value, 3)


def _interval(figure: Figure) -> str:
    if figure.low is None or figure.high is None:
        return _number(figure)
    return f"{_number(figure)} ({_short(figure.low, 2)}-{_short(figure.high, 2)})"


def _short(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.{digits}f}"
