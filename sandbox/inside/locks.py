"""What a child does to itself before it loads a program.

It is left with what cannot be inherited: its memory and CPU limits, dying with its parent, and the
short seccomp filter, which forbids the forks that the zygote lives by.
"""

from collections.abc import Callable
from ctypes import c_uint, c_ulong, create_string_buffer, get_errno
from os import _exit
from struct import Struct
from typing import Any, NamedTuple

from sandbox.inside.lockdown import LINUX, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, Filter, libc

_PR_SET_PDEATHSIG = 1
_SIGKILL = 9
_RLIMIT_CPU, _RLIMIT_AS = 0, 9 if LINUX else 5
_pack = Struct("=QQ").pack_into


class Locks(NamedTuple):
    """What locks a child in.

    Attributes:
        limit: Writes down, in the zygote, what the next children may use: CPU time (whole seconds
            after which the kernel kills; a backstop) and memory (bytes of address space on top of
            the interpreter's own).
        lock: Locks the calling process in, for good; raises ``OSError`` when a lock does not close.
    """

    limit: Callable[[int, int], None]
    lock: Callable[[], None]


def make_locks(own_bytes: int, filter_: Filter, own_pid_at: int) -> Locks:
    """Prepare what each child does to itself, with every argument made ready.

    Args:
        own_bytes: Address space of the interpreter itself.
        filter_: The short seccomp filter; an empty one for none.
        own_pid_at: Byte offset in it where the child's process id goes.
    """
    cpu, memory = create_string_buffer(16), create_string_buffer(16)

    def limit(cpu_s: int, memory_bytes: int) -> None:
        _pack(cpu, 0, cpu_s, cpu_s + 1)
        _pack(memory, 0, own_bytes + memory_bytes, own_bytes + memory_bytes)

    return Locks(limit, _make_lock(cpu, memory, filter_, own_pid_at))


def _make_lock(cpu: object, memory: object, filter_: Filter, own_pid_at: int) -> Callable[[], None]:
    confined = bool(filter_.address)
    own_pid = c_uint.from_buffer(filter_.code, own_pid_at) if confined else c_uint()
    calls = [libc[name] for name in ("setrlimit", "getpid", "getppid")]
    own = libc["getpid"]()
    prctl_ = libc["prctl"] if LINUX else None
    numbers = [c_ulong(number) for number in (0, _SIGKILL, SECCOMP_MODE_FILTER)]
    # One tuple, as a closure has an object for each name; and made one after another, so that they
    # lie together. A child copies every page on which there is a thing that it uses.
    ready = (own, confined, own_pid, filter_.program, cpu, memory, *calls, prctl_, *numbers)

    def lock(ready: tuple[Any, ...] = ready) -> None:
        parent, confined, own_pid, program, cpu, memory, setrlimit, getpid, getppid, *more = ready
        prctl, nothing, sigkill, mode = more
        bad = 0
        if prctl is not None:
            bad = prctl(_PR_SET_PDEATHSIG, sigkill, nothing, nothing, nothing)
            if bad or getppid() != parent:
                _exit(1)  # the zygote has died, and nobody would kill this child
            bad |= setrlimit(_RLIMIT_AS, memory)
        bad |= setrlimit(_RLIMIT_CPU, cpu)
        if confined:
            own_pid.value = getpid()
            bad |= prctl(PR_SET_SECCOMP, mode, program, nothing, nothing)
        if bad:
            raise OSError(get_errno(), "a child's lock did not close")

    return lock
