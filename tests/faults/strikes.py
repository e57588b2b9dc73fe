"""A run to strike at, blows that fall when it has come so far, and what must hold afterwards."""

import json
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.journal import read_journal

PROBLEMS = 16
POLL_S = 0.05
PATIENCE_S = 200.0


def write_problems(path: Path) -> Path:
    problems = [
        {
            "problem_id": f"toy/{number}",
            "prompt": f'def add_{number}(n: int) -> int:\n    """Return n plus {number}."""\n',
            "entry_point": f"add_{number}",
            "tests": [{"args": str(n), "expected": str(n + number)} for n in (1, 2, 5)],
            "canonical_solution": f"    return n + {number}\n",
        }
        for number in range(PROBLEMS)
    ]
    path.write_text("".join(json.dumps(problem) + "\n" for problem in problems))
    return path


@dataclass(frozen=True)
class Place:
    """Where one run and what belongs to it lie."""

    folder: Path

    @property
    def log(self) -> Path:
        """The engine's own list of the requests that it answered."""
        return self.folder / "asked"

    @property
    def console(self) -> Path:
        """What drivers print."""
        return self.folder / "console"

    def has_shards(self) -> bool:
        """Whether chains have been published."""
        return any(self.folder.glob("runs/*/chains/*.parquet"))

    @property
    def run(self) -> Path:
        (run,) = (self.folder / "runs").iterdir()
        return run

    def words(self, *more: str) -> list[str]:
        """The command line: long enough to be struck in the middle, four requests at a time."""
        return [
            "serve=fake",
            f"serve.fake_log={self.log}",
            "serve.fake_batch_limit=4",
            "serve.fake_tokens_per_s=20",
            "serve.backoff_s=0.1",
            f"dataset.path={write_problems(self.folder / 'data.jsonl')}",
            "dataset.limit=null",
            f"runs_dir={self.folder / 'runs'}",
            "chain.length=2",
            # Chains that sample share no answers, so that each pays for its own.
            "chain.sampling.temperature=0.8",
            "cluster.rows_per_block=2",
            "sandbox.actors=1",
            "engine.cpus_per_replica=0.1",
            *more,
        ]

    def answered(self) -> list[str]:
        """Names of the requests that the engine answered, in order; its probe left out."""
        if not self.log.exists():
            return []
        names = [line.split()[-1] for line in self.log.read_text().splitlines()]
        # What follows the number sign says which try it was.
        return [name.partition("#")[0] for name in names if not name.startswith("probe/")]

    def recorded(self) -> list[str]:
        """Names of the requests whose answers the journal has."""
        found = list(self.folder.glob("runs/*/journal"))
        names: list[str] = read_journal(found[0])["request_id"].to_pylist() if found else []
        return names


@dataclass
class Ledger:
    """What had been paid for at each blow."""

    place: Place
    notes: list[tuple[set[str], int]] = field(default_factory=list)

    def note(self) -> None:
        """Remember what is in the journal now, and how far the engine's list goes."""
        recorded = set(self.place.recorded())
        self.notes.append((recorded, len(self.place.answered())))

    def check(self) -> None:
        """Assert that nothing that a journal had was paid for again, and nothing is missing."""
        answered = self.place.answered()
        for recorded, so_far in self.notes:
            assert recorded.isdisjoint(answered[so_far:])
        assert self.notes[-1][0], "the blow fell before anything was paid for"
        assert set(self.place.recorded()) <= set(answered)


@contextmanager
def striking(place: Place, answers: int, blow: Callable[[], None]) -> Iterator[Ledger]:
    """Let a blow fall once the journal has so many answers; it must fall."""
    ledger = Ledger(place)
    over = threading.Event()
    errors: list[BaseException] = []

    def wait_and_strike() -> None:
        try:
            wait_for(lambda: over.is_set() or len(place.recorded()) >= answers)
            if not over.is_set():
                ledger.note()
                blow()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=wait_and_strike, daemon=True)
    thread.start()
    try:
        yield ledger
    finally:
        over.set()
        thread.join()
    if errors:
        raise errors[0]
    assert ledger.notes, "the run was over before the blow fell"


def wait_for(condition: Callable[[], bool], what: str = "the moment to strike") -> None:
    """Wait until something is so.

    Raises:
        AssertionError: it was never so.
    """
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"{what} never came"
        time.sleep(POLL_S)


def processes(word: str) -> set[int]:
    """Descendants of this process with a word in their command line."""
    parents: dict[int, int] = {}
    named = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        parents[int(folder.name)] = int(stat[1])
        if word in command and stat[0] != "Z":
            named.add(int(folder.name))
    return {pid for pid in named if os.getpid() in _ancestors(pid, parents)}


def _ancestors(pid: int, parents: dict[int, int]) -> Iterator[int]:
    while pid in parents:
        pid = parents[pid]
        yield pid


def kill(pids: set[int]) -> None:
    """End processes at once, without a chance to clean up."""
    assert pids, "there is nobody to strike"
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def forbid_writing(pids: set[int]) -> None:
    """Let no file of some processes grow any more, as on a full disk; needs no privilege."""
    assert pids, "there is nobody to strike"
    for pid in pids:
        _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, hard))
