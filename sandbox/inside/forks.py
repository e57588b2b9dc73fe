"""Forking a child for every program, and reaping it.

This is the path that every program pays for, and most of what it pays is page faults: a page that
the zygote or a child writes to after a fork is copied, and in CPython reading an object writes to
it. So the code here is straight, calls little, keeps to objects made beforehand, and binds what it
needs by name: a lookup through a module would write to the module and its dictionary as well.
"""

import contextlib
import os
from _socket import CMSG_SPACE, SCM_RIGHTS, SOL_SOCKET, socket
from ctypes import PyDLL, byref, create_string_buffer
from mmap import mmap
from os import _exit, close, pread, setsid
from struct import Struct
from typing import Any, NamedTuple, NoReturn

from sandbox.inside.frames import Writer
from sandbox.inside.job import Task
from sandbox.inside.job import load as load_task
from sandbox.inside.lockdown import LINUX
from sandbox.inside.locks import Locks
from sandbox.inside.probes import run as run_probes
from sandbox.inside.quiet import Streams
from sandbox.inside.runner import new_module, perform
from sandbox.inside.serving import Channel, Server, run_checks
from sandbox.inside.wire import (
    CHECKER,
    COMMAND,
    ENDED,
    FDS,
    GIVE_HANDLE,
    HANDLE,
    KILL,
    PROGRAM,
    REPORT,
    STATUS_AT,
    USAGE_AT,
)

_SIGKILL = 9  # the signal module's enums would be in every fork's memory
_POLLIN = 1
_PLACES = (0, 1)
_COMMAND_BYTES = COMMAND.size
_ROOM = CMSG_SPACE(FDS.size)
_ONE_FD = Struct("=i")

# The same calls of ``os`` and ``select`` do more: locks made anew and hooks run, for threads that
# a zygote does not have, a module looked up, tuples of floats, a dictionary. A PyDLL's function
# keeps the interpreter's lock, as ``os.fork`` does.
_fork, _wait4, _poll = (PyDLL(None)[name] for name in ("fork", "wait4", "poll"))


class Host(NamedTuple):
    """What a zygote keeps for its children."""

    control: socket
    streams: Streams
    locks: Locks
    own_group: bool
    task: mmap
    area: mmap
    pidfds: bool


def serve(host: Host) -> NoReturn:
    """Fork and reap until the owner closes the socket.

    There are two places for children. ``watched`` is an array of struct pollfd: a descriptor and
    its events, first the socket's, then of each place; a free one has no descriptor, and 0 in
    ``pids``.
    """
    control, streams, (limit, lock), own_group, task, area, pidfds = host
    control_fd, out, namespace = control.fileno(), Writer(area), new_module()
    receive, read_command, send = control.recvmsg, COMMAND.unpack, control.sendall
    pollfds, report = create_string_buffer(24), create_string_buffer(REPORT.size)
    status, usage = byref(report, STATUS_AT), byref(report, USAGE_AT)
    head = memoryview(report).cast("B")
    watched = memoryview(pollfds).cast("B").cast("i")
    watched[0], watched[2], watched[4] = control_fd, -1, -1
    watched[1] = watched[3] = watched[5] = _POLLIN
    pids, slots = [0, 0], [0, 0]
    allowed, end, mark = (0, 0), -1, -1
    pidfd_open = os.pidfd_open if pidfds else None
    while True:
        _poll(pollfds, 3, -1)
        for place in _PLACES:
            if watched[2 * place + 3] != _POLLIN:
                pid = pids[place]
                _wait4(pid, status, 0, usage)
                close(watched[2 * place + 2])
                watched[2 * place + 2] = -1
                pids[place] = 0
                if own_group:
                    _kill_rest(pid, {*pids})
                head[0], head[1] = ENDED, slots[place]
                send(report)
        if watched[1] == _POLLIN:
            continue
        data, rights, _, _ = receive(_COMMAND_BYTES, _ROOM)
        if not data:
            _end(pids)
            _exit(0)
        role, slot, size, cpu_s, memory = read_command(data)
        if role == GIVE_HANDLE:
            found = [watched[2 * at + 2] for at in _PLACES if pids[at] and slots[at] == slot]
            _give_handle(control, slot, found)
            continue
        if role == KILL:
            killed = [at for at in _PLACES if pids[at] and slots[at] == slot]
            for at in killed:
                _end([pids[at]])
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(pids[at], _SIGKILL)
                close(watched[2 * at + 2])
                watched[2 * at + 2] = _pipe_that_has_ended()
            continue
        if (cpu_s, memory) != allowed:
            limit(cpu_s, memory)
            allowed = cpu_s, memory
        fds = [fd for _, _, packed in rights for (fd,) in _ONE_FD.iter_unpack(packed)]
        if not pidfd_open:
            end, mark = os.pipe()  # the child keeps ``mark`` open for as long as it lives
        pid = _fork()
        if pid == 0:
            try:
                close(control_fd)
                for place in _PLACES:
                    if pids[place]:
                        close(watched[2 * place + 2])
                if own_group:
                    setsid()
                lock()
                if size or role != PROGRAM:
                    _play(role, size, fds, streams, namespace)
                else:
                    server = Server(Channel(fds[0])) if fds else None
                    perform(load_task(task), out, streams, namespace, server)
                    _exit(0)
            finally:
                _exit(70)
        for passed in fds:
            close(passed)
        if pidfd_open:
            end = pidfd_open(pid)
        else:
            close(mark)
        place = 1 if pids[0] else 0
        pids[place], slots[place] = pid, slot
        watched[2 * place + 2] = end


def _pipe_that_has_ended() -> int:
    """Takes the place of one that a process which outlives its parent may keep open."""
    end, mark = os.pipe()
    close(mark)
    return end


def _give_handle(control: socket, slot: int, pidfds: list[int]) -> None:
    report = bytes([HANDLE, slot]).ljust(REPORT.size, b"\0")
    rights = [(SOL_SOCKET, SCM_RIGHTS, _ONE_FD.pack(pidfd)) for pidfd in pidfds]
    control.sendmsg([report], rights)


def _end(pids: list[int]) -> None:
    for pid in pids:
        if pid:
            os.kill(pid, _SIGKILL)


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


def _play(
    role: int, size: int, fds: list[int], streams: Streams, namespace: dict[str, Any]
) -> NoReturn:
    """Do a task that came by descriptors."""
    task_fd, area_fd, *channel = fds
    task = load_task(pread(task_fd, size, 0))
    out = Writer(mmap(area_fd, 0))
    close(task_fd)
    close(area_fd)
    if role == PROGRAM:
        server = Server(Channel(channel[0])) if channel else None
        perform(task, out, streams, namespace, server)
    elif role == CHECKER:
        run_checks(Task(*task), out, Channel(channel[0]))
    else:
        run_probes(Task(*task), out)
    _exit(0)
