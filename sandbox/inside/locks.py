"""What a child does to itself before it loads a program.

It is left with what cannot be inherited: its memory and CPU limits, dying with its parent, and the
short seccomp filter, which forbids the forks that the zygote lives by.
"""

from collections.abc import Callable
from ctypes import c_ulong, create_string_buffer, get_errno
from os import _exit, getpid, getppid
from struct import Struct
from typing import NamedTuple

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
    parent, linux = getpid(), LINUX
    confined = filter_ if filter_.address else None  # kept: the kernel reads from its memory
    prctl, setrlimit = libc["prctl"], libc["setrlimit"]
    # Objects made one after another lie together; a child copies every page that it uses one of.
    nothing, sigkill, mode = c_ulong(0), c_ulong(_SIGKILL), c_ulong(SECCOMP_MODE_FILTER)
    program = c_ulong(filter_.address)
    own_pid = memoryview(filter_.code).cast("B")[own_pid_at : own_pid_at + 4].cast("I")

    def lock() -> None:
        bad = 0
        if linux:
            bad = prctl(_PR_SET_PDEATHSIG, sigkill, nothing, nothing, nothing)
            if bad or getppid() != parent:
                _exit(1)  # the zygote has died, and nobody would kill this child
            bad |= setrlimit(_RLIMIT_AS, memory)
        bad |= setrlimit(_RLIMIT_CPU, cpu)
        if confined is not None:
            own_pid[0] = getpid()
            bad |= prctl(PR_SET_SECCOMP, mode, program, nothing, nothing)
        if bad:
            raise OSError(get_errno(), "a child's lock did not close")

    return lock
