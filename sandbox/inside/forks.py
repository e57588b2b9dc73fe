"""Forking a child for every program, and reaping it.

This is the path that every program pays for, and most of what it pays is page faults: a page that
the zygote or a child writes to after a fork is copied, and in CPython reading an object writes to
it. So the code here is straight, calls little, keeps to objects made beforehand, and binds what it
needs by name: a lookup through a module would write to the module and its dictionary as well.
"""

import contextlib
import os
from _socket import CMSG_SPACE, SCM_RIGHTS, SOL_SOCKET, socket
from mmap import mmap
from os import _exit, close, fork, pidfd_open, pread, setsid, wait4
from select import POLLIN, poll
from struct import Struct
from typing import NamedTuple, NoReturn

from sandbox.inside.frames import Writer
from sandbox.inside.job import load as load_task
from sandbox.inside.lockdown import LINUX
from sandbox.inside.locks import Locks
from sandbox.inside.probes import run as run_probes
from sandbox.inside.quiet import Streams
from sandbox.inside.runner import run as run_program
from sandbox.inside.serving import Channel, Server, run_checks
from sandbox.inside.wire import CHECKER, COMMAND, ENDED, FDS, GIVE_HANDLE, HANDLE, PROBE, REPORT

_SIGKILL = 9  # the signal module's enums would be in every fork's memory
_ROOM = CMSG_SPACE(FDS.size)
_ONE_FD = Struct("=i")


class Host(NamedTuple):
    """What a zygote keeps for its children."""

    control: socket
    streams: Streams
    lock: Locks
    own_group: bool


def serve(host: Host) -> NoReturn:
    """Fork and reap until the owner closes the socket."""
    control, _, _, own_group = host
    watched = poll()
    watched.register(control, POLLIN)
    children: dict[int, tuple[int, int]] = {}
    while True:
        for fd, _ in watched.poll():
            if fd in children:
                watched.unregister(fd)
                pid, slot = children.pop(fd)
                _, status, usage = wait4(pid, 0)
                close(fd)
                if own_group:
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
            pid = fork()
            if pid == 0:
                _become_child(host, children, role, size, fds)
            for passed in fds:
                close(passed)
            pidfd = pidfd_open(pid)
            children[pidfd] = pid, slot
            watched.register(pidfd, POLLIN)


def _give_handle(control: socket, children: dict[int, tuple[int, int]], slot: int) -> None:
    report = REPORT.pack(HANDLE, slot, 0, 0.0, 0.0)
    handles = [_ONE_FD.pack(pidfd) for pidfd, (_, at) in children.items() if at == slot]
    rights = [(SOL_SOCKET, SCM_RIGHTS, handle) for handle in handles]
    control.sendmsg([report], rights)


def _end(children: dict[int, tuple[int, int]]) -> NoReturn:
    for pid, _ in children.values():
        os.kill(pid, _SIGKILL)
    _exit(0)


def _kill_rest(group: int, others: set[int]) -> None:
    """Kill what a child without a seccomp filter may have left: its group, and orphans."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, _SIGKILL)
    while LINUX and (orphans := _children() - others):
        for pid in orphans:
            os.kill(pid, _SIGKILL)
            os.waitpid(pid, 0)


def _children() -> set[int]:
    with open(f"/proc/self/task/{os.getpid()}/children") as listed:
        return {int(pid) for pid in listed.read().split()}


def _become_child(
    host: Host, others: dict[int, tuple[int, int]], role: int, size: int, fds: list[int]
) -> NoReturn:
    """Lock the door from within, then do the task."""
    try:
        control, streams, lock, own_group = host
        control.close()
        for other in others:
            close(other)
        if own_group:
            setsid()
        task_fd, area_fd, *channel = fds
        task = load_task(pread(task_fd, size, 0))
        area = mmap(area_fd, 0)
        close(task_fd)
        close(area_fd)
        lock(task.memory_bytes + len(area), task.cpu_s)
        out = Writer(area)
        if role == PROBE:
            run_probes(task, out)
        elif role == CHECKER:
            run_checks(task, out, Channel(channel[0]))
        else:
            server = Server(Channel(channel[0])) if channel else None
            run_program(task, out, streams, server)
    finally:
        _exit(70)
