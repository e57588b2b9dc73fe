"""Giving up rights, for good: once for the zygote, and the rest once for each child.

Everything that a fork inherits is given up in the zygote, where it costs nothing per program. The
child is left with what cannot be inherited: its memory and CPU limits, dying with its parent, and
the short seccomp filter, which forbids the forks that the zygote lives by.
"""

import ctypes
import os
import resource
import signal
import struct
import sys

LINUX = sys.platform == "linux"

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
_SECCOMP_MODE_FILTER = 2
_LAST_CAPABILITY = 63
_CAPABILITY_VERSION_3 = 0x20080522

STACK_BYTES = 8 * 2**20
OPEN_FILES = 64

_LIMIT = struct.Struct("=QQ")
_U32 = struct.Struct("=I")

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> None:
    """Turn a C call's failure into ``OSError`` naming the call."""
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def _prctl(what: str, option: int, *args: int) -> None:
    padded = [ctypes.c_ulong(arg) for arg in (*args, 0, 0, 0, 0)[:4]]
    check(libc.prctl(option, *padded), what)


def limit_zygote() -> None:
    """Limits that every child inherits: no core, no file growth, few files, a known stack."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    for what, amount in (
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_STACK, STACK_BYTES),
    ):
        hard = resource.getrlimit(what)[1]
        if hard == resource.RLIM_INFINITY or hard > amount:
            hard = amount
        resource.setrlimit(what, (hard, hard))


def seal_zygote() -> None:
    """No new privileges, no core or tracing by equals, and orphans come back to the zygote."""
    _prctl("no_new_privs", _PR_SET_NO_NEW_PRIVS, 1)
    _prctl("dumpable", _PR_SET_DUMPABLE, 0)
    _prctl("subreaper", _PR_SET_CHILD_SUBREAPER, 1)


def drop_capabilities() -> None:
    """Empty every capability set, so that a zygote of root has root's files and no more."""
    for capability in range(_LAST_CAPABILITY + 1):
        if libc.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0) != 0:
            break  # not privileged, or past the kernel's last one
    libc.prctl(_PR_CAP_AMBIENT, ctypes.c_ulong(_PR_CAP_AMBIENT_CLEAR_ALL), 0, 0, 0)
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    check(libc.capset(header, bytes(24)), "capset")


class Filter:
    """A seccomp filter in the form that the kernel takes."""

    def __init__(self, code: bytes) -> None:
        self.code = ctypes.create_string_buffer(code, len(code))
        self._program = ctypes.create_string_buffer(
            struct.pack("@HP", len(code) // 8, ctypes.addressof(self.code))
        )
        self.address = ctypes.addressof(self._program) if code else 0


def confine_zygote(filter_: Filter) -> None:
    """Load the long filter, which every child inherits."""
    _prctl("seccomp", _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, filter_.address)


class ChildLocks:
    """What each child does to itself, with every argument made ready beforehand.

    Args:
        own_bytes: Address space of the interpreter itself, which a memory limit comes on top of.
        filter_: The short seccomp filter; an empty one for none.
        own_pid_at: Byte offsets in it where the child's process id goes.
    """

    def __init__(self, own_bytes: int, filter_: Filter, own_pid_at: tuple[int, ...]) -> None:
        self._own_bytes = own_bytes
        self._parent = os.getpid()
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
            bad = self._prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if bad or os.getppid() != self._parent:
                os._exit(1)  # the zygote has died, and nobody would kill this child
            most = self._own_bytes + memory_bytes
            bad |= self._set_limit(resource.RLIMIT_AS, most, most)
        bad |= self._set_limit(resource.RLIMIT_CPU, cpu_s, cpu_s + 1)
        filter_ = self._filter
        if filter_.address:
            pid = os.getpid()
            for offset in self._own_pid_at:
                _U32.pack_into(filter_.code, offset, pid)
            bad |= self._prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, filter_.address, 0, 0)
        if bad:
            raise OSError(ctypes.get_errno(), "a child's lock did not close")

    def _set_limit(self, what: int, soft: int, hard: int) -> int:
        _LIMIT.pack_into(self._limit, 0, soft, hard)
        return int(self._setrlimit(what, self._limit_at))
