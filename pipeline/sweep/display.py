"""What a sweep shows while it runs: a line when a point starts or ends, and one that moves."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from pipeline.progress import PLAIN_EVERY_S
from pipeline.sweep.folder import SweepFolder
from pipeline.sweep.points import Point
from pipeline.tracking.lines import last_line
from pipeline.tracking.tracking import METRICS


class SweepDisplay:
    """Reads the live figures of the points that run, and shows their sum."""

    def __init__(
        self,
        console: Console,
        folder: SweepFolder,
        total: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._folder = folder
        self._total = total
        self._clock = clock
        self._shown_at = clock()
        self._shown = ""

    def say(self, line: str) -> None:
        """Print a line of its own."""
        if self._console.is_terminal and self._shown:
            self._console.file.write("\r\x1b[K")
        self._console.print(line, markup=False)
        self._shown = ""

    def show(self, done: int, running: Sequence[Point]) -> None:
        """Draw the moving line again; without a terminal, print one now and then."""
        now = self._clock()
        if not self._console.is_terminal and now - self._shown_at < PLAIN_EVERY_S:
            return
        text = self.line(done, running)
        if self._console.is_terminal:
            self._console.file.write("\r" + text[: self._console.width - 1] + "\x1b[K")
            self._console.file.flush()
        elif text != self._shown:
            self._console.print(text, markup=False)
        self._shown, self._shown_at = text, now

    def line(self, done: int, running: Sequence[Point]) -> str:
        """Return the text of the moving line."""
        figures = [last_line(path) for point in running if (path := self._metrics(point))]
        chains, asked, rate = (
            sum(row.get(name, 0) for row in figures)
            for name in ("chains_done", "chains", "tokens_per_s")
        )
        return (
            f"points {done}/{self._total} | {len(running)} running: chains {chains}/{asked}"
            f" | {rate:.0f} tokens/s"
        )

    def _metrics(self, point: Point) -> Path | None:
        run = self._folder.run_of(point)
        return None if run is None else run.path / METRICS
