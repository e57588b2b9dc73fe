"""Landlock, the kernel's unprivileged file, network and signal sandbox, by three system calls.

Every right that the running kernel knows is taken away; reading comes back for the given paths.
The numbers are those of the kernel's ``linux/landlock.h``; the three calls have one number on all
architectures.
"""

import ctypes
import os
import struct

from sandbox.inside.lockdown import libc

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1

READ_FILE = 1 << 2
READ_DIR = 1 << 3
_FS_RIGHTS_BY_ABI = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF, 5: 0xFFFF}
_NET_RIGHTS = 0x3  # bind and connect TCP, from ABI 4
_SCOPES = 0x3  # abstract unix sockets and signals, from ABI 6


def abi() -> int:
    """The kernel's Landlock version; 0 where there is none or it may not be used."""
    return max(0, int(libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)))


def restrict(readable: list[str], listable: list[str]) -> int:
    """Leave this process nothing but reading what lies beneath the given paths.

    Args:
        readable: Files and directories whose contents may be read and listed.
        listable: Directories of which names only may be listed.

    Returns:
        The version that was applied.

    Raises:
        OSError: The kernel has no Landlock or refuses it.
    """
    version = abi()
    if version < 1:
        raise OSError("the kernel offers no Landlock to this process")
    fs = _FS_RIGHTS_BY_ABI[min(version, 5)]
    attributes = struct.pack("=Q", fs)
    if version >= 4:
        attributes += struct.pack("=Q", _NET_RIGHTS)
    if version >= 6:
        attributes += struct.pack("=Q", _SCOPES)
    ruleset = _call(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    try:
        for path in readable:
            _allow(ruleset, path, READ_FILE | READ_DIR)
        for path in listable:
            _allow(ruleset, path, READ_DIR)
        _call(_RESTRICT_SELF, ctypes.c_int(ruleset), 0)
    finally:
        os.close(ruleset)
    return version


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return  # what is not there need not be readable
    try:
        if not os.path.isdir(path):
            rights &= READ_FILE
        rule = struct.pack("=Qi", rights, fd)
        _call(_ADD_RULE, ctypes.c_int(ruleset), _RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(fd)


def _call(number: int, *args: object) -> int:
    result = int(libc.syscall(ctypes.c_long(number), *args))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"landlock: {os.strerror(code)}")
    return result
