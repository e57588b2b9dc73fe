"""The owner's end of one zygote: start it, have it fork, wait, kill.

The zygote is started by exec with an environment of its own, so it holds no secret of the owner's.
It is never trusted to end by itself: every wait has a deadline, and closing the socket ends it.
"""

import array
import contextlib
import marshal
import os
import select
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import Any, NamedTuple

from sandbox import memory
from sandbox.clock import Spent, pid_of, spent
from sandbox.inside.wire import COMMAND, GIVE_HANDLE, HANDLE, KILL, LENGTH, REPORT, Plan
from sandbox.memory import Desk

START_TIMEOUT_S = 60.0
ANSWER_TIMEOUT_S = 30.0
PIDFDS = hasattr(os, "pidfd_open")
_PEAK_PER_MB = 2**20 if sys.platform == "darwin" else 2**10

_BOOT = (
    "import sys; sys.path.insert(0, {root!r}); from sandbox.inside import zygote; zygote.main({fd})"
)


class ZygoteLost(Exception):
    """The zygote died, or does not answer."""


class StartFailed(Exception):
    """The zygote could not set itself up.

    Attributes:
        layer: The layer that failed, or ``start``.
        reason: What it said.
    """

    def __init__(self, layer: str, reason: str) -> None:
        super().__init__(f"{layer}: {reason}")
        self.layer = layer
        self.reason = reason


class Ended(NamedTuple):
    """How a child ended: wait status, CPU seconds, peak resident MiB."""

    slot: int
    status: int
    cpu_s: float
    peak_mb: float


def _read_end(report: bytes) -> Ended:
    _, slot, status, user_s, user_us, system_s, system_us, peak = REPORT.unpack(report)
    cpu_s = user_s + system_s + (user_us + system_us) / 1e6
    return Ended(slot, status, cpu_s, peak / _PEAK_PER_MB)


class Child:
    """One running child; its handle is fetched when it is first needed."""

    def __init__(self, zygote: "ZygoteProcess", slot: int) -> None:
        self.slot = slot
        self._zygote = zygote
        self._pidfd: int | None = None
        self._pid = 0

    def spent(self) -> Spent | None:
        """Its clocks; None when it is gone or the system cannot tell."""
        if not PIDFDS:
            return None
        pidfd = self._handle()
        if pidfd is not None and self._pid == 0:
            with contextlib.suppress(OSError):
                self._pid = pid_of(pidfd)
        return spent(self._pid) if self._pid > 0 else None

    def kill(self) -> None:
        """Kill it, surely and only it."""
        if not PIDFDS:
            self._zygote.kill(self.slot)
            return
        pidfd = self._handle()
        if pidfd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)

    def forget(self) -> None:
        """Close the handle; the child must have ended."""
        if self._pidfd is not None:
            os.close(self._pidfd)

    def _handle(self) -> int | None:
        if self._pidfd is None:
            self._pidfd = self._zygote.handle(self.slot)
        return self._pidfd


class ZygoteProcess:
    """A running zygote and the way to talk to it."""

    def __init__(self, plan: Plan, hash_seed: int) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._control = ours
        self._ended: list[Ended] = []
        self._log = memory.new_file("zygote-log")
        self.desk = Desk()
        try:
            self._process = _launch(theirs, self.desk.fds, self._log, hash_seed)
        finally:
            theirs.close()
        self.report = self._greet(plan._replace(desk=self.desk.fds, pidfds=PIDFDS))

    @property
    def pid(self) -> int:
        """Its process id (the outer one, where it has a namespace of its own)."""
        return self._process.pid

    def _greet(self, plan: Plan) -> dict[str, Any]:
        data = marshal.dumps(tuple(plan))
        self._control.settimeout(START_TIMEOUT_S)
        try:
            self._control.sendall(LENGTH.pack(len(data)) + data)
            (length,) = LENGTH.unpack(self._receive(LENGTH.size))
            report: dict[str, Any] = marshal.loads(self._receive(length))
        except (ZygoteLost, OSError) as error:
            self.close()
            said = os.pread(self._log, 4000, 0).decode(errors="replace").strip()
            layer, _, reason = said.partition(": ")
            if layer in plan.layers:
                raise StartFailed(layer, reason) from error
            raise StartFailed("start", said or str(error)) from error
        finally:
            self._control.settimeout(ANSWER_TIMEOUT_S)
        return report

    def _receive(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._control.recv(size - len(data))
            if not part:
                raise ZygoteLost("the zygote closed its socket")
            data += part
        return data

    def fork(self, role: int, task_bytes: int, fds: list[int], allowed: tuple[int, int]) -> Child:
        """Have a child forked.

        Args:
            role: What it is; also its slot, as there is one of each at a time.
            task_bytes: The task's length, or 0 when task and result area are those of the desk.
            fds: What it gets: the task and the result area, unless they are those of the desk, and
                the channel, if there is one.
            allowed: CPU seconds, and bytes of memory on top of the interpreter's own.

        Raises:
            ZygoteLost: It does not listen.
        """
        command = COMMAND.pack(role, role, task_bytes, *allowed)
        try:
            if fds:
                rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
                self._control.sendmsg([command], rights)
            else:
                self._control.sendall(command)
        except OSError as error:
            raise ZygoteLost(str(error)) from error
        return Child(self, role)

    def handle(self, slot: int) -> int | None:
        """A descriptor of the child in a slot; None when it has ended.

        Raises:
            ZygoteLost: It did not answer.
        """
        try:
            self._control.sendall(COMMAND.pack(GIVE_HANDLE, slot, 0, 0, 0))
            while True:
                data, rights, _, _ = self._control.recvmsg(REPORT.size, socket.CMSG_SPACE(4))
                if len(data) < REPORT.size:
                    raise ZygoteLost("the zygote closed its socket")
                if data[0] == HANDLE:
                    return int.from_bytes(rights[0][2][:4], sys.byteorder) if rights else None
                self._ended.append(_read_end(data))
        except OSError as error:
            raise ZygoteLost(str(error)) from error

    def kill(self, slot: int) -> None:
        """Have the zygote kill the child in a slot, if it has not ended.

        Raises:
            ZygoteLost: It does not listen.
        """
        try:
            self._control.sendall(COMMAND.pack(KILL, slot, 0, 0, 0))
        except OSError as error:
            raise ZygoteLost(str(error)) from error

    def wait(self, timeout_s: float) -> Ended | None:
        """The next child's end, or None when none ended in time.

        Raises:
            ZygoteLost: The zygote died.
        """
        if self._ended:
            return self._ended.pop()
        ready, _, _ = select.select([self._control], [], [], timeout_s)
        if not ready:
            return None
        try:
            return _read_end(self._receive(REPORT.size))
        except OSError as error:
            raise ZygoteLost(str(error)) from error

    def close(self) -> None:
        """End it and all its children; returns when they are gone."""
        self._control.close()
        deadline = time.monotonic() + 1.0
        while self._process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.05)
        self._process.kill()
        self._process.wait()
        os.close(self._log)
        self.desk.close()


def _launch(
    control: socket.socket, desk: tuple[int, int], log: int, hash_seed: int
) -> subprocess.Popen[bytes]:
    root = str(Path(__file__).resolve().parent.parent)
    boot = _BOOT.format(root=root, fd=control.fileno())
    return subprocess.Popen(
        [sys.executable, "-S", "-s", "-P", "-B", "-c", boot],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=log,
        env=environment(hash_seed),
        cwd="/",
        pass_fds=[control.fileno(), *desk],
        start_new_session=True,
    )


def environment(hash_seed: int) -> dict[str, str]:
    """All that a program sees of an environment."""
    return {
        "PYTHONHASHSEED": str(hash_seed),
        "PYTHONUTF8": "1",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "MALLOC_ARENA_MAX": "1",  # or each thread reserves 64 MiB of a limited address space
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "LD_BIND_NOW": "1",  # or every child resolves, and so copies, the same addresses again
    }


def package_folders() -> tuple[str, ...]:
    """Where this interpreter's third-party packages lie."""
    paths = sysconfig.get_paths()
    return tuple(dict.fromkeys((paths["purelib"], paths["platlib"])))
