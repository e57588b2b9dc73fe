"""Proving an isolation level: act by act, in a throw-away child of the zygote that will be used."""

import json
import os
import platform
import socket
import tempfile
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sandbox import memory
from sandbox.inside import job
from sandbox.inside.frames import Code
from sandbox.inside.job import Task
from sandbox.inside.wire import PROBE
from sandbox.levels import Level
from sandbox.process import ANSWER_TIMEOUT_S, ZygoteProcess

WANTED = frozenset({"import a module", "start a thread", "take some memory"})
"""Acts that right programs need, so they must succeed at every level."""

ALWAYS_REFUSED = frozenset({"take a terabyte"})
ONLY_STRICT_REFUSES = frozenset({"see that a file of the host exists"})

_AREA_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Act:
    """One act of the proof.

    Attributes:
        name: What was tried.
        happened: ``refused``, ``done``, or ``noticed`` when the owner saw its effect.
        wanted: ``refused``, ``done``, or ``either``.
        detail: The error, or what it gave.
    """

    name: str
    happened: str
    wanted: str
    detail: str = ""

    @property
    def holds(self) -> bool:
        """Whether it went as the level wants it."""
        return self.wanted == "either" or self.happened == self.wanted


@dataclass(frozen=True, slots=True)
class Isolation:
    """What a sandbox gives, for the manifest and for ``doctor``."""

    level: Level
    layers: tuple[str, ...]
    landlock_abi: int
    filter_sha256: str
    namespaces: dict[str, str] = field(default_factory=dict)
    kernel: str = field(default_factory=platform.release)
    architecture: str = field(default_factory=platform.machine)
    python: str = ""
    preloaded: int = 0
    acts: tuple[Act, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def wanted(level: Level, act: str) -> str:
    """What an act must come to at a level."""
    if act in WANTED:
        return "done"
    if act in ALWAYS_REFUSED or level is Level.STRICT:
        return "refused"
    if level is Level.MINIMAL or act in ONLY_STRICT_REFUSES:
        return "either"
    return "refused"


def prove(zygote: ZygoteProcess, level: Level) -> tuple[Act, ...]:
    """Try every act and say what happened.

    Raises:
        ZygoteLost: The zygote died of it.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="holdtrue-proof-")))
        scene = _Scene(stack, folder)
        tried = _try(zygote, scene.facts)
        noticed = scene.noticed()
    tried = [
        (name, "noticed", noticed[name]) if name in noticed else (name, happened, detail)
        for name, happened, detail in tried
    ]
    return tuple(
        Act(name, happened, wanted(level, name), detail) for name, happened, detail in tried
    )


class _Scene:
    """Things of the host that the child tries to reach, and that tell when it did."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self._folder = folder
        self._canary = folder / "canary"
        self._canary.write_text("alive")
        self._tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self._abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        name = f"holdtrue-proof-{os.getpid()}-{os.urandom(4).hex()}"
        self._listeners = {"connect by TCP": self._tcp}
        if os.uname().sysname == "Linux":
            self._abstract.bind("\0" + name)
            self._abstract.listen()
            self._listeners["connect to an abstract socket"] = self._abstract
        self.facts = {
            "canary": str(self._canary),
            "folder": str(folder),
            "new_file": str(folder / "new-file"),
            "new_folder": str(folder / "new-folder"),
            "owner": str(os.getpid()),
            "port": str(self._tcp.getsockname()[1]),
            "abstract": name,
        }

    def noticed(self) -> dict[str, str]:
        """Acts whose effect can be seen from here, whatever the child said."""
        seen = {}
        if not self._canary.exists():
            seen["delete a file of the host"] = "the file is gone"
        for act, name in (("write a new file", "new-file"), ("make a directory", "new-folder")):
            if (self._folder / name).exists():
                seen[act] = f"{name} is there"
        for act, listener in self._listeners.items():
            listener.settimeout(0)
            try:
                listener.accept()[0].close()
            except BlockingIOError:
                continue
            seen[act] = "a connection came"
        return seen


def _try(zygote: ZygoteProcess, facts: dict[str, str]) -> list[tuple[str, str, str]]:
    data = job.dump(Task(json.dumps(facts), "", (), 0, 0, 0))
    area, fd = memory.Area(_AREA_BYTES), memory.sealed(data)
    try:
        child = zygote.fork(PROBE, len(data), [fd, area.fd], (20, 256 * 2**20))
        if zygote.wait(ANSWER_TIMEOUT_S) is None:
            child.kill()
            zygote.wait(ANSWER_TIMEOUT_S)
        child.forget()
        read, _ = area.read(0, most=2)
    finally:
        os.close(fd)
        area.close()
    if not read or read[0].code != Code.VALUE:
        return [("prove anything", "done", "the proving child died")]
    return [tuple(item) for item in json.loads(read[0].body)]
