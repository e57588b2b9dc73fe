"""The zygote: a clean, exec'd interpreter that gives up its rights once and then forks children.

It reads its plan and, per fork, a few bytes and file descriptors; never a program's text, so
nothing of one program is left in the memory that the next one's child inherits. Children read
their task from a sealed memory file and write into a sealed result area.

This module is what happens once; ``forks`` is what happens for every program.
"""

import _socket
import gc
import marshal
import mmap
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from sandbox.inside import imports, landlock, lockdown, namespaces, pages, text
from sandbox.inside.wire import LENGTH, Plan

_CLOSING = {"namespaces", "landlock"}
"""Layers that close the file system, except for some paths."""

_GC_THRESHOLDS = (20_000, 20, 20)
"""Children collect garbage less often than a plain interpreter: most programs are short."""


def main(control_fd: int) -> NoReturn:
    """Set up, report, and serve until the owner goes."""
    control = _socket.socket(fileno=control_fd)
    plan = Plan(*marshal.loads(_receive_sized(control)))
    serve, report = _prepare(control, plan)
    control.sendall(LENGTH.pack(len(report)) + report)
    _settle()
    serve()


def _receive_sized(control: _socket.socket) -> bytes:
    (length,) = LENGTH.unpack(control.recv(LENGTH.size, _socket.MSG_WAITALL))
    return control.recv(length, _socket.MSG_WAITALL)


def _prepare(control: _socket.socket, plan: Plan) -> tuple[Callable[[], NoReturn], bytes]:
    """Take every step that is taken once; a layer that fails ends the start, naming itself."""
    report: dict[str, Any] = {"python": sys.version.split()[0], "layers": list(plan.layers)}
    if lockdown.LINUX:
        text.move_to_huge_pages()
    packages = imports.find_packages(list(plan.package_folders))
    report["preloaded"] = len(imports.prepare(packages, wide=plan.wide))
    gc.collect()
    # What every child runs is loaded last, into fresh memory, and so lies together.
    from sandbox.inside import forks, runner
    from sandbox.inside.locks import make_locks
    from sandbox.inside.quiet import Streams

    desk = _map_desk(*plan.desk)
    streams = Streams()
    streams.install()
    with mmap.mmap(-1, 1 << 16) as area:
        runner.warm_up(streams, area)
    gc.collect()
    pages.fill_holes()
    own_bytes = _address_space()
    readable, listable = imports.python_tree(packages) if _CLOSING & {*plan.layers} else ([], [])
    long_filter = lockdown.Filter(plan.zygote_filter)
    for layer, step in (
        ("namespaces", lambda: namespaces.isolate(_outermost(readable + listable))),
        ("limits", lockdown.limit_zygote),
        ("no_new_privs", lockdown.seal_zygote),
        ("landlock", lambda: landlock.restrict(readable, listable)),
        ("capabilities", lockdown.drop_capabilities),
        ("seccomp", lambda: lockdown.confine_zygote(long_filter)),
    ):
        if layer in plan.layers:
            report[layer] = _take(layer, step)
    short_filter = lockdown.Filter(plan.child_filter)
    locks = make_locks(own_bytes, short_filter, plan.own_pid_at)
    own_group = "seccomp" not in plan.layers
    host = forks.Host(control, streams, locks, own_group, *desk, plan.pidfds)
    return lambda: forks.serve(host), marshal.dumps(report)


def _map_desk(task_fd: int, area_fd: int) -> tuple[mmap.mmap, mmap.mmap]:
    """The task's place, which cannot be written here, and the result area."""
    task = mmap.mmap(task_fd, 0, access=mmap.ACCESS_READ)
    area = mmap.mmap(area_fd, 0)
    os.close(task_fd)
    os.close(area_fd)
    return task, area


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


def _settle() -> None:
    """Leave programs a plain interpreter, and memory that forks can share for long.

    Our modules are gone from it, and the way to them; our functions live on.
    """
    sys.path.pop(0)
    for name in [name for name in sys.modules if name.partition(".")[0] == "sandbox"]:
        del sys.modules[name]
    gc.collect()
    pages.fill_holes()
    gc.set_threshold(*_GC_THRESHOLDS)
    gc.freeze()
