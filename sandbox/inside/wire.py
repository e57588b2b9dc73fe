"""What the owner and its zygote say to each other, over a stream socket.

First the plan, with its length before it, and the zygote's report likewise. Then commands of a
fixed size, each with file descriptors (task, result area and, where there is one, the channel
between a program and its checker), and reports of a fixed size: a child started (with a descriptor
of it) or ended.
"""

import struct
from typing import NamedTuple

LENGTH = struct.Struct("=I")
COMMAND = struct.Struct("=BB2xI")
"""Role, slot, and the task's length in bytes."""
REPORT = struct.Struct("=BBxxidd")
"""What happened, slot, wait status, CPU seconds, peak resident MiB."""
FDS = struct.Struct("=3i")

STARTED, ENDED = 1, 2
PROGRAM, CHECKER, PROBE = 1, 2, 3


class Plan(NamedTuple):
    """What the owner wants of a zygote."""

    layers: tuple[str, ...]
    filter_code: bytes
    filter_pid_at: tuple[int, ...]
    package_folders: tuple[str, ...]
    wide: bool
