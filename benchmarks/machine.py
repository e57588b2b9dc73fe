"""What a table of measurements has to say of the machine."""

import os
import platform
from pathlib import Path


def describe_machine() -> str:
    """Return one line: processor, cores, memory, load, Python."""
    load = os.getloadavg()[0]
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return (
        f"{_processor()}, {cores} cores, {memory:.0f} GiB, load {load:.1f}, "
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
