"""Every behaviour runs at the best level of this host and at ``standard``, and is followed by the
same three checks: a good program still passes, nothing is left, and the owner has not grown.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox import Call, Job, Kind, Limits, Load, Outcome, ProgramResult, Sandbox

GROWTH_MB = 24
TIGHT = Limits(cpu_s=0.5, wall_s=2.0, load_cpu_s=1.0, program_cpu_s=4.0, memory_mb=256)


class Owner:
    """A sandbox, as a test sees it."""

    def __init__(self, box: Sandbox, folder: Path) -> None:
        self.box = box
        self.folder = folder

    def run(self, program: str, *args: str, limits: Limits = TIGHT, seed: int = 0) -> ProgramResult:
        calls = tuple(Call(str(i), args=source) for i, source in enumerate(args or ("",)))
        return self.box.run(Job("hostile", program, "f", calls, limits, seed))

    def call(self, program: str, args: str = "", limits: Limits = TIGHT) -> Outcome:
        result = self.run(program, args, limits=limits)
        assert result.load is Load.OK, result
        return result.outcomes[0]

    def kinds(self, program: str, *args: str, limits: Limits = TIGHT) -> list[Kind]:
        return [outcome.kind for outcome in self.run(program, *args, limits=limits).outcomes]


@pytest.fixture(scope="session", params=["auto", "standard"])
def sandbox_of_level(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with Sandbox(request.param) as box:
        assert box.level in ("strict", "standard")
        yield box


@pytest.fixture
def owner(sandbox_of_level: Sandbox, tmp_path: Path) -> Iterator[Owner]:
    owner = Owner(sandbox_of_level, tmp_path)
    good(owner)
    before = _resident_mb()
    (tmp_path / "canary").write_text("alive")
    yield owner
    good(owner)
    assert _descendants(owner.box) == []
    assert [path.name for path in tmp_path.iterdir()] == ["canary"]
    assert (tmp_path / "canary").read_text() == "alive"
    assert _resident_mb() - before < GROWTH_MB


def good(owner: Owner) -> None:
    program = "import math\ndef f(xs): return sorted(xs), math.gcd(12, 18)"
    outcome = owner.call(program, "[3, 1, 2]")
    assert (outcome.kind, outcome.encoding) == (Kind.VALUE, '["t",["l",1,2,3],6]')


def _resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def _descendants(box: Sandbox) -> list[int]:
    """Processes under the zygote, itself and its inner half excepted."""
    children = _children_of()
    inner = children(box.zygote_pid) if "namespaces" in box.isolation.layers else [box.zygote_pid]
    found: list[int] = []
    waiting = [child for pid in inner for child in children(pid)]
    while waiting:
        found.append(waiting.pop())
        waiting += children(found[-1])
    return found


def _children_of() -> Callable[[int], list[int]]:
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
            parents.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    return lambda pid: parents.get(pid, [])
