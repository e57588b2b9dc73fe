"""The zygote: a clean, exec'd interpreter that gives up its rights once and then forks children.

It reads its plan and, per fork, a few bytes and file descriptors; never a program's text, so
nothing of one program is left in the memory that the next one's child inherits. Children read
their task from a sealed memory file and write into a sealed result area.

Commands and reports are fixed-size structs over a stream socket; the plan comes first, with its
length. When the socket ends, so does the zygote, and its children with it.
"""

import _socket
import contextlib
import gc
import marshal
import mmap
import os
import select
import signal
import struct
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from sandbox.inside import imports, job, landlock, lockdown, namespaces, probes, runner, serving
from sandbox.inside.frames import Writer
from sandbox.inside.quiet import Streams
from sandbox.inside.wire import (
    CHECKER,
    COMMAND,
    ENDED,
    FDS,
    LENGTH,
    PROBE,
    REPORT,
    STARTED,
    Plan,
)


class Host(NamedTuple):
    """What a zygote keeps for its children."""

    control: _socket.socket
    streams: Streams
    filter: lockdown.SeccompFilter | None
    own_bytes: int
    pid: int
    own_group: bool


def main(control_fd: int) -> NoReturn:
    """Set up, report, and serve until the owner goes."""
    control = _socket.socket(fileno=control_fd)
    plan = Plan(*marshal.loads(_receive_sized(control)))
    host, report = _prepare(control, plan)
    control.sendall(LENGTH.pack(len(report)) + report)
    _forget_ourselves()
    _serve(host)


def _receive_sized(control: _socket.socket) -> bytes:
    (length,) = LENGTH.unpack(control.recv(LENGTH.size, _socket.MSG_WAITALL))
    return control.recv(length, _socket.MSG_WAITALL)


def _prepare(control: _socket.socket, plan: Plan) -> tuple[Host, bytes]:
    """Take every step that is taken once; a layer that fails ends the start, naming itself."""
    report: dict[str, Any] = {"python": sys.version.split()[0], "layers": list(plan.layers)}
    packages = imports.find_packages(list(plan.package_folders))
    report["preloaded"] = len(imports.prepare(packages, wide=plan.wide))
    streams = Streams()
    streams.install()
    own_bytes = _address_space()
    readable, listable = imports.python_tree(packages)
    for layer, step in (
        ("namespaces", lambda: namespaces.isolate(_outermost(readable + listable))),
        ("limits", lockdown.limit_zygote),
        ("no_new_privs", lockdown.seal_zygote),
        ("landlock", lambda: landlock.restrict(readable, listable)),
        ("capabilities", lockdown.drop_capabilities),
    ):
        if layer in plan.layers:
            report[layer] = _take(layer, step)
    filter_ = None
    if "seccomp" in plan.layers:
        filter_ = lockdown.SeccompFilter(plan.filter_code, plan.filter_pid_at)
    host = Host(control, streams, filter_, own_bytes, os.getpid(), "seccomp" not in plan.layers)
    return host, marshal.dumps(report)


def _take(layer: str, step: Callable[[], Any]) -> Any:
    try:
        return step()
    except OSError as error:
        os.write(2, f"{layer}: {error}".encode())
        os._exit(3)


def _outermost(paths: list[str]) -> list[str]:
    """The paths without those that lie beneath another one."""
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not (kept and path.startswith(kept[-1] + "/")):
            kept.append(path)
    return kept


def _address_space() -> int:
    if not lockdown.LINUX:
        return 0
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[0]) * mmap.PAGESIZE


def _forget_ourselves() -> None:
    """Leave programs a plain interpreter: our modules are gone from it, our functions live on."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "sandbox"]:
        del sys.modules[name]
    gc.collect()
    gc.disable()
    gc.freeze()


def _serve(host: Host) -> NoReturn:
    poll = select.poll()
    poll.register(host.control, select.POLLIN)
    children: dict[int, tuple[int, int]] = {}
    while True:
        for fd, _ in poll.poll():
            if fd in children:
                poll.unregister(fd)
                pid, slot = children.pop(fd)
                _report_end(host, fd, pid, slot, {pid for pid, _ in children.values()})
                continue
            pid, slot, pidfd = _fork(host, children)
            children[pidfd] = (pid, slot)
            poll.register(pidfd, select.POLLIN)


def _fork(host: Host, children: dict[int, tuple[int, int]]) -> tuple[int, int, int]:
    data, ancillary, _, _ = host.control.recvmsg(COMMAND.size, _socket.CMSG_SPACE(FDS.size))
    if not data:
        for pid, _ in children.values():
            os.kill(pid, signal.SIGKILL)
        os._exit(0)
    role, slot = COMMAND.unpack(data)
    fds = [fd for _, _, packed in ancillary for (fd,) in struct.iter_unpack("=i", packed)]
    pid = os.fork()
    if pid == 0:
        for other in children:
            os.close(other)
        _child(host, role, fds)
    for fd in fds:
        os.close(fd)
    pidfd = os.pidfd_open(pid)
    report = REPORT.pack(STARTED, slot, 0, 0.0, 0.0)
    rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack("=i", pidfd))]
    host.control.sendmsg([report], rights)
    return pid, slot, pidfd


def _report_end(host: Host, pidfd: int, pid: int, slot: int, others: set[int]) -> None:
    _, status, usage = os.wait4(pid, 0)
    os.close(pidfd)
    if host.own_group:
        _kill_rest(pid, others)
    cpu_s = usage.ru_utime + usage.ru_stime
    host.control.sendall(REPORT.pack(ENDED, slot, status, cpu_s, usage.ru_maxrss / 1024))


def _kill_rest(group: int, others: set[int]) -> None:
    """Kill what a child without a seccomp filter may have left: its group, and orphans."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    while lockdown.LINUX and (orphans := _children() - others):
        for pid in orphans:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _children() -> set[int]:
    with open(f"/proc/self/task/{os.getpid()}/children") as listed:
        return {int(pid) for pid in listed.read().split()}


def _child(host: Host, role: int, fds: list[int]) -> NoReturn:
    """The forked child: lock the door, then do the task. Never returns."""
    host.control.close()
    if host.own_group:
        os.setsid()
    task_fd, area_fd, *channel_fd = fds
    task = job.load(os.pread(task_fd, os.fstat(task_fd).st_size, 0))
    area = mmap.mmap(area_fd, 0)
    os.close(task_fd)
    os.close(area_fd)
    lockdown.limit_child(host.own_bytes + len(area) + task.memory_bytes, task.cpu_s, host.pid)
    if host.filter is not None:
        host.filter.load()
    out = Writer(area)
    try:
        if role == PROBE:
            probes.run(task, out)
        elif role == CHECKER:
            serving.run_checks(task, out, serving.Channel(channel_fd[0]))
        else:
            server = serving.Server(serving.Channel(channel_fd[0])) if channel_fd else None
            runner.run(task, out, host.streams, server)
    finally:
        os._exit(70)
