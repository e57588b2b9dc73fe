"""What a child does to itself before it loads a program.

It is left with what cannot be inherited: its memory and CPU limits, dying with its parent, and the
short seccomp filter, which forbids the forks that the zygote lives by. Every argument is made ready
beforehand.
"""

import ctypes
from ctypes import get_errno
from os import _exit, getpid, getppid
from resource import RLIMIT_AS, RLIMIT_CPU
from signal import SIGKILL
from struct import Struct

from sandbox.inside.lockdown import LINUX, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, Filter, libc

_PR_SET_PDEATHSIG = 1
_SIGKILL = int(SIGKILL)
_LIMIT = Struct("=QQ")
_U32 = Struct("=I")


class ChildLocks:
    """What each child does to itself, with every argument made ready beforehand.

    Args:
        own_bytes: Address space of the interpreter itself, which a memory limit comes on top of.
        filter_: The short seccomp filter; an empty one for none.
        own_pid_at: Byte offsets in it where the child's process id goes.
    """

    def __init__(self, own_bytes: int, filter_: Filter, own_pid_at: tuple[int, ...]) -> None:
        self._own_bytes = own_bytes
        self._parent = getpid()
        self._own_pid_at = own_pid_at
        self._filter = filter_
        self._limit = ctypes.create_string_buffer(16)
        self._limit_at = ctypes.addressof(self._limit)
        self._prctl = libc["prctl"]
        self._prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
        self._setrlimit = libc["setrlimit"]
        self._setrlimit.argtypes = [ctypes.c_int, ctypes.c_void_p]

    def close(self, memory_bytes: int, cpu_s: int) -> None:
        """Lock this process in; there is no way back.

        Args:
            memory_bytes: Address space on top of the interpreter's own.
            cpu_s: Whole CPU seconds after which the kernel kills it; a backstop.

        Raises:
            OSError: A lock does not close.
        """
        if LINUX:
            bad = self._prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
            if bad or getppid() != self._parent:
                _exit(1)  # the zygote has died, and nobody would kill this child
            most = self._own_bytes + memory_bytes
            bad |= self._set_limit(RLIMIT_AS, most, most)
        bad |= self._set_limit(RLIMIT_CPU, cpu_s, cpu_s + 1)
        filter_ = self._filter
        if filter_.address:
            pid = getpid()
            for offset in self._own_pid_at:
                _U32.pack_into(filter_.code, offset, pid)
            bad |= self._prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter_.address, 0, 0)
        if bad:
            raise OSError(get_errno(), "a child's lock did not close")

    def _set_limit(self, what: int, soft: int, hard: int) -> int:
        _LIMIT.pack_into(self._limit, 0, soft, hard)
        return int(self._setrlimit(what, self._limit_at))
