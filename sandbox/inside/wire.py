"""What the owner and its zygote say to each other, over a stream socket.

First the plan, with its length before it, and the zygote's report likewise. Then commands of a
fixed size: to fork, with file descriptors (task and result area, unless they are the ones that
stand ready; and, where there is one, the channel between a program and its checker), or to hand
over a descriptor of a child, which is asked for only when a child takes long. Reports have a fixed
size too: that descriptor, or the end of a child.
"""

import struct
from typing import NamedTuple

LENGTH = struct.Struct("=I")
COMMAND = struct.Struct("=BB2xIIQ")
"""Role, slot, length in bytes of a task that comes as a descriptor or 0, CPU seconds and bytes of
memory that the kernel allows."""
REPORT = struct.Struct("=BB2xi qi4x qi4x q104x")
"""What happened, slot, wait status; then a struct rusage as ``wait4`` writes it where a long has 64
bits: user time (seconds, microseconds), system time, peak resident size."""
STATUS_AT, USAGE_AT = 4, 8
FDS = struct.Struct("=3i")

HANDLE, ENDED = 1, 2
"""What a report is about; a handle comes without its descriptor when the child has ended."""
PROGRAM, CHECKER, PROBE, GIVE_HANDLE, KILL = 1, 2, 3, 4, 5
"""Roles, and the commands that are none; the last one where there are no pidfds."""


class Plan(NamedTuple):
    """What the owner wants of a zygote."""

    layers: tuple[str, ...]
    zygote_filter: bytes
    child_filter: bytes
    own_pid_at: int
    package_folders: tuple[str, ...]
    wide: bool
    pidfds: bool = True
    """Whether the system has them; macOS has not."""
    desk: tuple[int, int] = (-1, -1)
    """Descriptors of the task's place and the result area that stand ready."""
