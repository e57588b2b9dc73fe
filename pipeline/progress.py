"""One line that says where a run stands; plain lines where there is no terminal."""

import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

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
    compared: Counter[int] = field(default_factory=Counter)
    """Programs that can be compared with the one before, by step."""
    tom: dict[int, float] = field(default_factory=dict)
    """Sum of their shares of equal outcomes, by step."""

    def add_scores(self, chain: dict[str, Any]) -> None:
        """Add what a chain's steps say; short chains come first, so this is not yet a score."""
        for step in chain["steps"]:
            outcomes = step["execution"]["outcomes"] if step["execution"] else []
            matches = [o["matches_previous"] for o in outcomes if o["matches_previous"] is not None]
            if matches:
                index = step["index"]
                self.compared[index] += 1
                self.tom[index] = self.tom.get(index, 0.0) + sum(matches) / len(matches)


class Progress:
    """Renders the line; the driver feeds it and decides when.

    ``listen`` hears the same as figures: each time the line is drawn, and, then with True, at last.
    """

    def __init__(
        self,
        console: Console,
        plan: ChainPlan,
        *,
        already: int = 0,
        clock: Callable[[], float] = time.monotonic,
        listen: Callable[[dict[str, float], bool], None] | None = None,
    ) -> None:
        self.console = console
        self.plan = plan
        self.already = already
        self.clock = clock
        self.listen = listen
        self.finished = Finished()
        self.started = clock()
        self._shown_at = -PLAIN_EVERY_S
        self._shown = ""
        self._rates: deque[tuple[float, int]] = deque([(self.started, 0)])

    def show(self, standing: Standing) -> None:
        """Draw the line again; without a terminal, print one now and then when it changed."""
        self._tell(standing, last=False)
        text = self.line(standing)
        if self.console.is_terminal:
            self.console.file.write("\r" + text[: self.console.width - 1] + "\x1b[K")
            self.console.file.flush()
        elif text != self._shown and self.clock() - self._shown_at >= PLAIN_EVERY_S:
            self.console.print(text, markup=False)
            self._shown, self._shown_at = text, self.clock()

    def close(self, standing: Standing) -> None:
        """Leave the last state on the screen."""
        self._tell(standing, last=True)
        if self.console.is_terminal:
            self.console.file.write("\r" + self.line(standing) + "\x1b[K\n")
            self.console.file.flush()
        else:
            self.console.print(self.line(standing), markup=False)

    def figures(self, standing: Standing) -> dict[str, float]:
        """Return what the line says, and the mean TOM of finished chains so far, by name."""
        finished = self.finished
        return {
            "chains_done": self.already + finished.chains,
            "chains": self.already + self.plan.chains,
            "stopped_early": finished.stopped_early,
            "requests": standing.requests,
            "tokens": standing.tokens,
            "tokens_per_s": round(self._tokens_per_s(standing), 3),
            **{f"steps_done/{n}": standing.steps_done[n] for n in range(self.plan.length + 1)},
            **{
                f"tom_so_far/{step}": round(finished.tom[step] / count, 6)
                for step, count in sorted(finished.compared.items())
            },
        }

    def _tell(self, standing: Standing, *, last: bool) -> None:
        if self.listen is not None:
            self.listen(self.figures(standing), last)

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
