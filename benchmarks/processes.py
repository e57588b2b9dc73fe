"""CPU seconds and memory of this process and of everything that it started, by what they do."""

import os
import threading
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
POLL_S = 2.0
KINDS = {
    "raylet": "Ray: node and store",
    "gcs_server": "Ray: node and store",
    "ServeReplica": "engine replicas",
    "ServeController": "Ray Serve's controller",
    "RoundActor": "round actors",
    "MapWorker": "round actors",
    "Keeper": "journal",
    "Recorded": "judges",
    "zygote": "judges",
}
"""Word of a command line to what the process is called in the table."""
OTHER = "Ray: the rest"


@dataclass(frozen=True)
class Process:
    """What the kernel says of one process."""

    parent: int
    cpu_s: float
    command: str


class ProcessWatch:
    """Adds up the CPU seconds of this process's tree while the block runs.

    What a process used between the last look and its end is missed; processes of a run live long.
    """

    def __init__(self) -> None:
        self._before: dict[int, float] = {}
        self._last: dict[int, Process] = {}
        self._kinds: dict[int, str] = {}
        self._sums: list[tuple[float, dict[str, float]]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="processes", daemon=True)
        self.driver_mib = 0.0
        self.store_mib = 0.0
        """Pages of the object store that were ever in use at once, as the node's process holds
        them."""

    def __enter__(self) -> "ProcessWatch":
        self._before = {pid: process.cpu_s for pid, process in tree(os.getpid()).items()}
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._look()

    def cpu_s(self, since: float | None = None) -> dict[str, float]:
        """Return CPU seconds by kind of process.

        Args:
            since: count from the first look after this time, in seconds since 1970; null: all.
        """
        last = self._sums[-1][1]
        if since is None:
            return last
        first = next((sums for time, sums in self._sums if time >= since), last)
        return {kind: seconds - first.get(kind, 0.0) for kind, seconds in last.items()}

    def _sum(self) -> dict[str, float]:
        sums: dict[str, float] = defaultdict(float)
        for pid, process in self._last.items():
            sums[self._kinds.get(pid, OTHER)] += process.cpu_s - self._before.get(pid, 0.0)
        return dict(sums)

    def _watch(self) -> None:
        while not self._over.wait(POLL_S):
            self._look()

    def _look(self) -> None:
        now = tree(os.getpid())
        # A worker's command line says what it is only from when it has been given work to its end.
        named = {pid: _kind(pid, process.command) for pid, process in now.items()}
        self._kinds |= {pid: kind for pid, kind in named.items() if kind != OTHER}
        self._last |= now
        self._sums.append((time.time(), self._sum()))
        self.driver_mib = max(self.driver_mib, memory_mib(os.getpid(), "RssAnon"))
        for pid, process in now.items():
            if "/raylet/raylet " in process.command:
                self.store_mib = max(self.store_mib, memory_mib(pid, "RssShmem"))


def tree(root: int) -> dict[int, Process]:
    """Return a process and all its descendants."""
    everyone: dict[int, Process] = {}
    children: dict[int, list[int]] = defaultdict(list)
    for folder in Path("/proc").glob("[0-9]*"):
        process = _read(folder)
        if process is not None:
            everyone[int(folder.name)] = process
            children[process.parent].append(int(folder.name))
    found: dict[int, Process] = {}
    todo = [root]
    while todo:
        pid = todo.pop()
        found[pid] = everyone[pid]
        todo += children[pid]
    return found


def memory_mib(pid: int, field: str) -> float:
    """Return a field of /proc/PID/status in MiB; 0 once the process is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(field)), 0.0)


def _read(folder: Path) -> Process | None:
    try:
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return None  # It has ended meanwhile.
    cpu_s = (int(fields[11]) + int(fields[12])) / TICKS_PER_S
    return Process(int(fields[1]), cpu_s, command)


def _kind(pid: int, command: str) -> str:
    if pid == os.getpid():
        return "driver"
    return next((kind for word, kind in KINDS.items() if word in command), OTHER)
