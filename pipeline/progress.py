"""One line that says where a run stands; plain lines where there is no terminal."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console

from pipeline.board import Standing
from pipeline.plan import ChainPlan

PLAIN_EVERY_S = 15.0
RATE_WINDOW_S = 60.0


@dataclass
class Finished:
    """What is known of the chains that are done."""

    chains: int = 0
    stopped_early: int = 0
    requests: int = 0


class Progress:
    """Renders the line; the driver feeds it and decides when."""

    def __init__(
        self,
        console: Console,
        plan: ChainPlan,
        *,
        already: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.console = console
        self.plan = plan
        self.already = already
        self.clock = clock
        self.finished = Finished()
        self.started = clock()
        self._shown_at = -PLAIN_EVERY_S
        self._shown = ""
        self._rates: deque[tuple[float, int]] = deque([(self.started, 0)])

    def show(self, standing: Standing) -> None:
        """Draw the line again; without a terminal, print one now and then when it changed."""
        text = self.line(standing)
        if self.console.is_terminal:
            self.console.file.write("\r" + text[: self.console.width - 1] + "\x1b[K")
            self.console.file.flush()
        elif text != self._shown and self.clock() - self._shown_at >= PLAIN_EVERY_S:
            self.console.print(text, markup=False)
            self._shown, self._shown_at = text, self.clock()

    def close(self, standing: Standing) -> None:
        """Leave the last state on the screen."""
        if self.console.is_terminal:
            self.console.file.write("\r" + self.line(standing) + "\x1b[K\n")
            self.console.file.flush()
        else:
            self.console.print(self.line(standing), markup=False)

    def line(self, standing: Standing) -> str:
        """Return the text of the line."""
        done = self.already + self.finished.chains
        steps = " ".join(
            f"{step}:{standing.steps_done[step]}" for step in range(self.plan.length + 1)
        )
        return (
            f"chains {done}/{self.already + self.plan.chains}"
            f" | stopped early {self.finished.stopped_early}"
            f" | steps done {steps}"
            f" | {self._tokens_per_s(standing):.0f} tokens/s"
            f" | left {self._time_left(standing)}"
        )

    def _tokens_per_s(self, standing: Standing) -> float:
        now = self.clock()
        self._rates.append((now, standing.tokens))
        while len(self._rates) > 2 and self._rates[0][0] < now - RATE_WINDOW_S:
            self._rates.popleft()
        (then, before), (_, after) = self._rates[0], self._rates[-1]
        return (after - before) / (now - then) if now > then else 0.0

    def _time_left(self, standing: Standing) -> str:
        open_chains = self.plan.chains - self.finished.chains
        if not open_chains:
            return "0:00"
        if not standing.requests:
            return "?"
        each = self.plan.most_requests / self.plan.chains
        if self.finished.chains:
            each = self.finished.requests / self.finished.chains
        expected = self.finished.requests + open_chains * each
        elapsed = self.clock() - self.started
        left = elapsed * max(0.0, expected - standing.requests) / standing.requests
        return f"{int(left // 60)}:{int(left % 60):02d}"
