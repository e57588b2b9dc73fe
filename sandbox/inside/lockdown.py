"""Giving up rights, for good: once for the zygote, and the rest once for each child.

Everything that a fork inherits is given up in the zygote, where it costs nothing per program. The
child is left with what cannot be inherited: its memory and CPU limits, dying with its parent, and
the seccomp filter, which forbids the forks that the zygote lives by.
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


class SeccompFilter:
    """A filter in the form that the kernel wants, ready to be loaded by each child.

    Args:
        code: The assembled filter.
        own_pid_at: Byte offsets where the child's process id goes.
    """

    def __init__(self, code: bytes, own_pid_at: tuple[int, ...]) -> None:
        self._code = ctypes.create_string_buffer(code, len(code))
        self._program = ctypes.create_string_buffer(
            struct.pack("@HP", len(code) // 8, ctypes.addressof(self._code))
        )
        self._address = ctypes.c_ulong(ctypes.addressof(self._program))
        self._own_pid_at = own_pid_at

    def load(self) -> None:
        """Confine this process; there is no way back."""
        pid = os.getpid()
        for offset in self._own_pid_at:
            struct.pack_into("=I", self._code, offset, pid)
        check(libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, self._address, 0, 0), "seccomp")


def limit_child(memory_bytes: int, cpu_s: int, parent: int) -> None:
    """A child's own limits.

    Args:
        memory_bytes: Address space, the interpreter's own included.
        cpu_s: Whole CPU seconds after which the kernel kills it; a backstop.
        parent: The zygote's process id; the child dies when it does.
    """
    if LINUX:
        _prctl("pdeathsig", _PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
