"""Giving up rights, for good: what the zygote gives up, its children never have.

Everything that a fork inherits is given up here, where it costs nothing per program; ``locks`` is
the rest.
"""

import ctypes
import os
import resource
import struct
import sys

LINUX = sys.platform == "linux"

_PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
SECCOMP_MODE_FILTER = 2
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


class Filter:
    """A seccomp filter in the form that the kernel takes.

    Attributes:
        code: The instructions.
        program: A ``struct sock_fprog``, to be passed by its address.
        address: That address, or 0 when there are no instructions.
    """

    def __init__(self, code: bytes) -> None:
        self.code = ctypes.create_string_buffer(code, len(code))
        self.program = ctypes.create_string_buffer(
            struct.pack("@HP", len(code) // 8, ctypes.addressof(self.code))
        )
        self.address = ctypes.addressof(self.program) if code else 0


def confine_zygote(filter_: Filter) -> None:
    """Load the long filter, which every child inherits."""
    _prctl("seccomp", PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter_.address)
