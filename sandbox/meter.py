"""What running programs costs in all: the process that owns a sandbox, its zygote, every child."""

import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

_USER, _CHILDREN_END = 11, 15
"""Fields of ``/proc/PID/stat`` after the name: user, system, and both of ended children."""


class HasZygote(Protocol):
    """A sandbox of this process."""

    @property
    def zygote_pid(self) -> int:
        """Process id of the zygote that it has now."""
        ...


class Meter:
    """Tells the CPU seconds since it was made or last read, so that what it tells adds up.

    Without ``/proc`` (macOS) a zygote and its children count only when the zygote has ended.
    """

    def __init__(self, sandbox: HasZygote) -> None:
        self._sandbox = sandbox
        self._read_at_s = self._now_s()

    def lap(self) -> float:
        """Return the CPU seconds of this process, the zygote and all children since the last."""
        now = self._now_s()
        spent, self._read_at_s = now - self._read_at_s, now
        return spent

    def _now_s(self) -> float:
        return _own_s() + sum(map(_process_s, _tree(self._sandbox.zygote_pid)))


def _own_s() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def _tree(pid: int) -> Iterator[int]:
    """Yield a process and all that descend from it."""
    yield pid
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return
    for child in children:
        yield from _tree(int(child))


def _process_s(pid: int) -> float:
    """Return the CPU seconds of a process and of its ended children; 0 where nobody can tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[_USER:_CHILDREN_END])) / os.sysconf("SC_CLK_TCK")
