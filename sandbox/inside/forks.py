"""Forking a child for every program, and reaping it.

This is the path that every program pays for, and most of what it pays is page faults: a page that
the zygote or a child writes to after a fork is copied, and in CPython reading an object writes to
it. So the code here is straight, calls little, and keeps to objects made beforehand.
"""

import _socket
import contextlib
import mmap
import os
import select
import signal
import struct
from typing import NamedTuple, NoReturn

from sandbox.inside import job, lockdown, probes, runner, serving
from sandbox.inside.frames import Writer
from sandbox.inside.quiet import Streams
from sandbox.inside.wire import CHECKER, COMMAND, ENDED, FDS, GIVE_HANDLE, HANDLE, PROBE, REPORT

_ROOM = _socket.CMSG_SPACE(FDS.size)
_ONE_FD = struct.Struct("=i")


class Host(NamedTuple):
    """What a zygote keeps for its children."""

    control: _socket.socket
    streams: Streams
    locks: lockdown.ChildLocks
    own_group: bool


def serve(host: Host) -> NoReturn:
    """Fork and reap until the owner closes the socket."""
    control = host.control
    poll = select.poll()
    poll.register(control, select.POLLIN)
    children: dict[int, tuple[int, int]] = {}
    while True:
        for fd, _ in poll.poll():
            if fd in children:
                poll.unregister(fd)
                pid, slot = children.pop(fd)
                _, status, usage = os.wait4(pid, 0)
                os.close(fd)
                if host.own_group:
                    _kill_rest(pid, {pid for pid, _ in children.values()})
                cpu_s = usage.ru_utime + usage.ru_stime
                control.sendall(REPORT.pack(ENDED, slot, status, cpu_s, usage.ru_maxrss / 1024))
                continue
            data, rights, _, _ = control.recvmsg(COMMAND.size, _ROOM)
            if not data:
                _end(children)
            role, slot, size = COMMAND.unpack(data)
            if role == GIVE_HANDLE:
                _give_handle(control, children, slot)
                continue
            fds = [fd for _, _, packed in rights for (fd,) in _ONE_FD.iter_unpack(packed)]
            pid = os.fork()
            if pid == 0:
                _become_child(host, children, role, size, fds)
            for passed in fds:
                os.close(passed)
            pidfd = os.pidfd_open(pid)
            children[pidfd] = pid, slot
            poll.register(pidfd, select.POLLIN)


def _give_handle(control: _socket.socket, children: dict[int, tuple[int, int]], slot: int) -> None:
    report = REPORT.pack(HANDLE, slot, 0, 0.0, 0.0)
    handles = [_ONE_FD.pack(pidfd) for pidfd, (_, at) in children.items() if at == slot]
    rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, handle) for handle in handles]
    control.sendmsg([report], rights)


def _end(children: dict[int, tuple[int, int]]) -> NoReturn:
    for pid, _ in children.values():
        os.kill(pid, signal.SIGKILL)
    os._exit(0)


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


def _become_child(
    host: Host, others: dict[int, tuple[int, int]], role: int, size: int, fds: list[int]
) -> NoReturn:
    """Lock the door from within, then do the task."""
    try:
        host.control.close()
        for other in others:
            os.close(other)
        if host.own_group:
            os.setsid()
        task_fd, area_fd, *channel = fds
        task = job.load(os.pread(task_fd, size, 0))
        area = mmap.mmap(area_fd, 0)
        os.close(task_fd)
        os.close(area_fd)
        host.locks.close(task.memory_bytes + len(area), task.cpu_s)
        out = Writer(area)
        if role == PROBE:
            probes.run(task, out)
        elif role == CHECKER:
            serving.run_checks(task, out, serving.Channel(channel[0]))
        else:
            server = serving.Server(serving.Channel(channel[0])) if channel else None
            runner.run(task, out, host.streams, server)
    finally:
        os._exit(70)
