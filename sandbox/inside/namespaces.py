"""Own namespaces and an own root around the zygote, by ``unshare`` and new mount calls.

The new root is an empty read-only tmpfs that holds the Python tree, the shared libraries and two
devices, each a private read-only copy of the mount; the old root is detached, so that a path
outside does not even exist. With privilege no user namespace is made; without, one that maps the
caller to itself.
"""

import ctypes
import os
import stat
from typing import NamedTuple

from sandbox.inside.lockdown import check, libc

_CLONE_NEWNS, _CLONE_NEWUTS, _CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
_CLONE_NEWUSER, _CLONE_NEWPID, _CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
_KINDS = _CLONE_NEWNS | _CLONE_NEWUTS | _CLONE_NEWIPC | _CLONE_NEWPID | _CLONE_NEWNET

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_REMOUNT = 1, 2, 4, 32
_MS_REC, _MS_PRIVATE = 16384, 1 << 18
_MNT_DETACH = 2
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_OPEN_TREE_CLONE, _AT_RECURSIVE, _AT_EMPTY_PATH, _AT_FDCWD = 1, 0x8000, 0x1000, -100
_MOVE_MOUNT_F_EMPTY_PATH = 4
_MOUNT_ATTR_RDONLY, _MOUNT_ATTR_NOSUID = 1, 2

_STAGES = ("/tmp", "/mnt", "/var", "/home", "/usr")
"""Directories of which one surely exists to build the new root on, unseen by others."""


class _Tree(NamedTuple):
    path: str
    fd: int
    directory: bool


def isolate(paths: list[str]) -> dict[str, str]:
    """Enter new namespaces whose root holds only the given paths, and become their first process.

    The calling process stays outside as a waiting parent and never returns; the function returns
    in a forked child that is process 1 inside and dies with that parent.

    Returns:
        Namespace kind to its identity, as ``/proc/self/ns`` shows it.

    Raises:
        OSError: The kernel refuses one of the steps; the message names it.
    """
    _unshare()
    _become_first()
    identities = {
        kind: os.readlink(f"/proc/self/ns/{kind}") for kind in ("net", "pid", "mnt", "ipc", "uts")
    }
    _change_root(paths)
    return identities


def _unshare() -> None:
    if libc.unshare(_KINDS) == 0:
        return
    uid, gid = os.getuid(), os.getgid()
    check(libc.unshare(_KINDS | _CLONE_NEWUSER), "unshare with a user namespace")
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {uid} 1"),
        ("gid_map", f"{gid} {gid} 1"),
    ):
        fd = os.open(f"/proc/self/{name}", os.O_WRONLY)
        os.write(fd, text.encode())
        os.close(fd)


def _become_first() -> None:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        _wait_for(pid)
    check(libc.prctl(1, 9, 0, 0, 0), "pdeathsig")
    if os.getppid() not in (0, parent):  # 0: the parent lives outside this namespace
        os._exit(1)


def _wait_for(pid: int) -> None:
    os.closerange(0, 1024)
    _, status = os.waitpid(pid, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _change_root(paths: list[str]) -> None:
    check(libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None), "private mounts")
    trees = [_clone(path) for path in paths if os.path.exists(path)]
    stage = next(path for path in _STAGES if os.path.isdir(path))
    flags = _MS_NOSUID | _MS_NODEV
    check(libc.mount(b"tmpfs", stage.encode(), b"tmpfs", flags, b"mode=0755"), "mount tmpfs")
    for tree in trees:
        _attach(tree, stage)
    os.chdir(stage)
    dot = ctypes.c_char_p(b".")
    check(libc.syscall(_PIVOT_ROOT[os.uname().machine], dot, dot), "pivot_root")
    check(libc.umount2(dot, _MNT_DETACH), "detach the old root")
    os.chdir("/")
    check(libc.mount(None, b"/", None, flags | _MS_REMOUNT | _MS_RDONLY, None), "read-only root")


def _clone(path: str) -> _Tree:
    flags = _OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_RECURSIVE
    fd = libc.syscall(_OPEN_TREE, _AT_FDCWD, path.encode(), flags)
    check(min(fd, 0), f"open_tree {path}")
    attributes = (ctypes.c_uint64 * 4)(_MOUNT_ATTR_RDONLY | _MOUNT_ATTR_NOSUID, 0, 0, 0)
    result = libc.syscall(
        _MOUNT_SETATTR, fd, b"", _AT_EMPTY_PATH | _AT_RECURSIVE, attributes, ctypes.c_size_t(32)
    )
    check(result, f"mount_setattr {path}")
    return _Tree(path, fd, stat.S_ISDIR(os.stat(path).st_mode))


def _attach(tree: _Tree, stage: str) -> None:
    target = stage + tree.path
    if tree.directory:
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.mknod(target, 0o600 | stat.S_IFREG)
    result = libc.syscall(
        _MOVE_MOUNT, tree.fd, b"", _AT_FDCWD, target.encode(), _MOVE_MOUNT_F_EMPTY_PATH
    )
    check(result, f"move_mount {tree.path}")
    os.close(tree.fd)
