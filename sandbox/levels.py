"""Isolation levels: which layers each has, and what to do when a host lacks one."""

import platform
import sys
from enum import StrEnum

from conf.errors import UserError


class Level(StrEnum):
    """How strongly programs are isolated, from the strongest."""

    STRICT = "strict"
    STANDARD = "standard"
    STANDARD_NOFS = "standard-nofs"
    MINIMAL = "minimal"


LAYERS: dict[Level, tuple[str, ...]] = {
    Level.STRICT: ("namespaces", "limits", "no_new_privs", "seccomp", "landlock", "capabilities"),
    Level.STANDARD: ("limits", "no_new_privs", "seccomp", "landlock", "capabilities"),
    Level.STANDARD_NOFS: ("limits", "no_new_privs", "seccomp", "capabilities"),
    Level.MINIMAL: ("limits",),
}

REMEDIES = {
    "namespaces": "allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, "
    "user.max_user_namespaces above 0, no AppArmor restriction), or give the container "
    "CAP_SYS_ADMIN, or use sandbox.isolation=standard",
    "seccomp": "use a container runtime profile that allows prctl(PR_SET_SECCOMP); "
    "without it only sandbox.isolation=minimal works, for programs that you trust",
    "landlock": "use Linux 5.13 or newer with landlock among its security modules (lsm=...), and "
    "a runtime profile that allows landlock_*, or use sandbox.isolation=standard-nofs",
    "no_new_privs": "use Linux, and a runtime profile that allows prctl",
    "limits": "raise the hard limits of the session (ulimit -H)",
    "capabilities": "use a runtime profile that allows capset",
    "start": "see the message",
    "proof": "do not run untrusted programs on this host; report the acts that were not refused",
}


class LevelUnavailable(UserError):
    """This host cannot give a level.

    Attributes:
        layer: The missing layer, a key of ``REMEDIES``.
    """

    def __init__(self, level: Level, layer: str, reason: str) -> None:
        super().__init__(
            f"isolation level {level} is not possible here: layer {layer!r} is missing "
            f"({reason}); {REMEDIES[layer]}"
        )
        self.level = level
        self.layer = layer
        self.reason = reason


def candidates(asked: str) -> tuple[Level, ...]:
    """Levels to try, best first, for a configured value; ``auto`` never means minimal."""
    if asked == "auto":
        return (Level.STRICT, Level.STANDARD, Level.STANDARD_NOFS)
    return (Level(asked),)


def check_platform(level: Level) -> None:
    """Refuse early what this system or machine can never give.

    Raises:
        LevelUnavailable: Not Linux, or an architecture without a table of system calls.
    """
    if level is Level.MINIMAL:
        return
    if sys.platform != "linux":
        raise LevelUnavailable(level, "seccomp", f"{sys.platform} has no seccomp")
    if platform.machine() not in ("x86_64", "aarch64"):
        raise LevelUnavailable(level, "seccomp", f"no system call table for {platform.machine()}")
