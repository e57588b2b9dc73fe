"""What a child does to itself before it loads a program.

It is left with what cannot be inherited: its memory and CPU limits, dying with its parent, and the
short seccomp filter, which forbids the forks that the zygote lives by.
"""

import ctypes
from collections.abc import Callable
from ctypes import get_errno
from os import _exit, getpid, getppid
from resource import RLIMIT_AS, RLIMIT_CPU
from struct import Struct

from sandbox.inside.lockdown import LINUX, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, Filter, libc

_PR_SET_PDEATHSIG = 1
_SIGKILL = 9
_pack_limit = Struct("=QQ").pack_into
_pack_pid = Struct("=I").pack_into


Locks = Callable[[int, int], None]


def make_locks(own_bytes: int, filter_: Filter, own_pid_at: tuple[int, ...]) -> Locks:
    """Prepare what each child does to itself, with every argument made ready.

    Args:
        own_bytes: Address space of the interpreter itself, which a memory limit comes on top of.
        filter_: The short seccomp filter; an empty one for none.
        own_pid_at: Byte offsets in it where the child's process id goes.

    Returns:
        A function of memory (bytes of address space on top of the interpreter's own) and CPU time
        (whole seconds after which the kernel kills the process; a backstop). It locks the process
        in, for good, and raises ``OSError`` when a lock does not close.
    """
    parent = getpid()
    limit = ctypes.create_string_buffer(16)
    limit_at = ctypes.addressof(limit)
    code = filter_.code
    prctl = libc["prctl"]
    prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    setrlimit = libc["setrlimit"]
    setrlimit.argtypes = [ctypes.c_int, ctypes.c_void_p]

    def lock(memory_bytes: int, cpu_s: int) -> None:
        bad = 0
        if LINUX:
            bad = prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
            if bad or getppid() != parent:
                _exit(1)  # the zygote has died, and nobody would kill this child
            _pack_limit(limit, 0, own_bytes + memory_bytes, own_bytes + memory_bytes)
            bad |= setrlimit(RLIMIT_AS, limit_at)
        _pack_limit(limit, 0, cpu_s, cpu_s + 1)
        bad |= setrlimit(RLIMIT_CPU, limit_at)
        if program_at := filter_.address:
            pid = getpid()
            for offset in own_pid_at:
                _pack_pid(code, offset, pid)
            bad |= prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program_at, 0, 0)
        if bad:
            raise OSError(get_errno(), "a child's lock did not close")

    return lock
