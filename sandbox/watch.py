"""Holding the clock: watch the children of one round until they have ended.

Time is CPU time. A test is over when the children have used its CPU budget, or when they have
neither run nor waited for a CPU for its wall budget, which only a sleeper does: on an overloaded
machine a ready process is starved, and starvation is not counted. Budgets count from the moment
at which the owner first saw the test begin, so they err in the program's favour, by one tick.
"""

import time
from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

from sandbox.clock import Spent
from sandbox.process import ANSWER_TIMEOUT_S, Child, Ended, ZygoteLost, ZygoteProcess
from sandbox.types import Limits

FIRST_TICK_S = 0.05
LONGEST_TICK_S = 0.1
SHORTEST_TICK_S = 0.005


class Cause(Enum):
    """Why the children ended."""

    THEMSELVES = "themselves"
    CPU = "cpu"
    SLEPT = "slept"
    TOTAL = "total"


class Progress(NamedTuple):
    """How far a child has got: frames written, and whether it says that it is done."""

    frames: int
    done: bool


class Watched(NamedTuple):
    """How the watch ended: the cause, and each slot's end."""

    cause: Cause
    ended: dict[int, Ended]

    @property
    def cpu_s(self) -> float:
        """CPU seconds of all children."""
        return sum(end.cpu_s for end in self.ended.values())


def watch(
    zygote: ZygoteProcess,
    children: Sequence[Child],
    progress: Callable[[], Progress],
    limits: Limits,
    total_cpu_s: float,
) -> Watched:
    """Wait until all children have ended, killing them when a budget is used up.

    Args:
        zygote: The parent of the children.
        children: All children of this round.
        progress: Says how far the program has got; called once a tick.
        limits: Budgets of the tests.
        total_cpu_s: CPU seconds that this round may use in all.

    Raises:
        ZygoteLost: The zygote died, or did not reap a killed child.
    """
    ended: dict[int, Ended] = {}
    pace = Pace(limits, total_cpu_s, time.monotonic())
    tick = FIRST_TICK_S
    while len(ended) < len(children):
        end = zygote.wait(tick)
        if end is not None:
            ended[end.slot] = end
            continue
        running = [child for child in children if child.slot not in ended]
        clocks = _sum([child.spent() for child in running], ended)
        cause, tick = pace.look(progress(), clocks, time.monotonic())
        if cause is not None:
            return Watched(cause, ended | _kill(zygote, running))
    return Watched(Cause.THEMSELVES, ended)


def _sum(clocks: list[Spent | None], ended: dict[int, Ended]) -> Spent:
    known = [clock for clock in clocks if clock is not None]
    return Spent(
        sum(clock.cpu_s for clock in known) + sum(end.cpu_s for end in ended.values()),
        sum(clock.starved_s for clock in known),
    )


def _kill(zygote: ZygoteProcess, running: list[Child]) -> dict[int, Ended]:
    for child in running:
        child.kill()
    ended: dict[int, Ended] = {}
    while len(ended) < len(running):
        end = zygote.wait(ANSWER_TIMEOUT_S)
        if end is None:
            raise ZygoteLost("a killed child was not reaped")
        ended[end.slot] = end
    return ended


class Pace:
    """The budgets of the test that is running."""

    def __init__(self, limits: Limits, total_cpu_s: float, now: float) -> None:
        self._limits = limits
        self._total_cpu_s = total_cpu_s
        self._frames = 0
        self._cpu_s = 0.0
        self._starved_s = 0.0
        self._since = now

    def look(self, progress: Progress, clocks: Spent, now: float) -> tuple[Cause | None, float]:
        """What to do now: a cause to kill for, or the seconds until the next look."""
        if progress.done:
            return Cause.THEMSELVES, 0.0  # all frames are there; a lingering process adds nothing
        if clocks.cpu_s >= self._total_cpu_s:
            return Cause.TOTAL, 0.0
        if progress.frames > self._frames:
            self._frames = progress.frames
            self._cpu_s, self._starved_s, self._since = clocks.cpu_s, clocks.starved_s, now
        budget = self._limits.load_cpu_s if self._frames == 0 else self._limits.cpu_s
        used = clocks.cpu_s - self._cpu_s
        if used >= budget:
            return Cause.CPU, 0.0
        idle = now - self._since - used - (clocks.starved_s - self._starved_s)
        if idle >= self._limits.wall_s:
            return Cause.SLEPT, 0.0
        left = min(budget - used, self._total_cpu_s - clocks.cpu_s)
        return None, min(max(left, SHORTEST_TICK_S), LONGEST_TICK_S)
