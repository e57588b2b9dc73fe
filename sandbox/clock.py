"""How long a process has run, and how long it waited for a CPU, seen from outside it."""

import os
import time
from pathlib import Path
from typing import NamedTuple


class Spent(NamedTuple):
    """Seconds since a process began.

    Attributes:
        cpu_s: CPU time of all its threads.
        starved_s: Time in which its main thread was ready but had no CPU; 0 where unknown.
    """

    cpu_s: float
    starved_s: float


def spent(pid: int) -> Spent | None:
    """Read both clocks; None when the process is gone.

    The CPU clock's number is the kernel's encoding of "process clock of pid" (``CPUCLOCK_SCHED``),
    which glibc's ``clock_getcpuclockid`` would give.
    """
    try:
        cpu_s = time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return None
    try:
        fields = Path(f"/proc/{pid}/schedstat").read_text().split()
    except OSError:
        return Spent(cpu_s, 0.0)
    return Spent(cpu_s, int(fields[1]) / 1e9 if len(fields) > 1 else 0.0)


def pid_of(pidfd: int) -> int:
    """The process id, in our own namespace, of a descriptor that came from another one."""
    for line in Path(f"/proc/self/fdinfo/{pidfd}").read_text().splitlines():
        if line.startswith("Pid:"):
            return int(line.split()[1])
    raise ProcessLookupError(os.strerror(3))
