"""The interpreter's own code in huge pages.

A fork copies the page tables of private memory, but not those of mapped files: every child meets
the interpreter's machine code again, one page fault for each page or few of them that it runs
through. Of all that a short program's child costs, that is the largest part. In huge pages of
private memory the code comes along with the fork, at two entries, and no fault follows.

What was read-only beside the code becomes executable with it. Nothing rests on that: a program may
make memory of its own executable, and is confined by the kernel alone.

It is a rare thing to do, which a kernel or a hypervisor may do badly. So a child tries it first and
is thrown away: where that crashes or hangs, children are slower and nothing else is lost.
"""

import ctypes
import mmap
import os
import platform
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, NoReturn

_HUGE_PAGE = Path("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
_MADV_HUGEPAGE = 14
_MREMAP_MAYMOVE, _MREMAP_FIXED = 1, 2
_READ_WRITE = mmap.PROT_READ | mmap.PROT_WRITE
_PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
_FAILED = 2 ** (8 * ctypes.sizeof(ctypes.c_size_t)) - 1
_TRIAL_S, _GONE_S = 2.0, 1.0
_LOOK_S = 0.001


class Mapping(NamedTuple):
    """One line of ``/proc/self/maps``; the end is the first address after it."""

    start: int
    end: int
    mode: str
    name: str


def move_to_huge_pages() -> int:
    """Put the interpreter's code into huge pages, as far as it covers whole ones.

    Returns:
        Bytes moved; 0 where the system gives no huge pages or a child that tried did not end
        well, and nothing has changed then.
    """
    if platform.machine() != "x86_64" or not _HUGE_PAGE.exists():
        return 0  # elsewhere copied code needs the caches flushed, which nobody could try
    size = int(_HUGE_PAGE.read_text())
    inside = ctypes.cast(ctypes.pythonapi.PyObject_Call, ctypes.c_void_p).value or 0
    maps = Path("/proc/self/maps").read_text()
    start, end = whole_pages(read_only_run(mappings(maps), inside), size)
    if end <= start or not ends_well(lambda: _move(start, end - start, size), _TRIAL_S):
        return 0
    return _move(start, end - start, size)


def ends_well(act: Callable[[], object], within_s: float) -> bool:
    """Whether an act comes to something true in a child, and a child of that one runs and ends.

    Args:
        act: what to try; an exception is as bad as a crash.
        within_s: wall time after which the child is killed.
    """
    pid = os.fork()
    if pid == 0:
        _try(act)
    status = _wait(pid, within_s)
    if status is None:
        os.kill(pid, signal.SIGKILL)
        _wait(pid, _GONE_S)  # and no longer: what hangs in the kernel does not go even now
    return status == 0


def _wait(pid: int, within_s: float) -> int | None:
    """How a child ended; None when it has not in time."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        time.sleep(_LOOK_S)
    return None


def _try(act: Callable[[], object]) -> NoReturn:
    code = 1
    try:
        if act():
            pid = os.fork()
            code = 0 if pid == 0 else os.waitpid(pid, 0)[1] != 0
    finally:
        os._exit(code)


def read_only_run(mappings: list[Mapping], inside: int) -> tuple[int, int]:
    """Start and end of the read-only mappings of one file that lie gapless around an address."""
    at = next(i for i, m in enumerate(mappings) if m.start <= inside < m.end)
    first = last = at
    while first > 0 and _continues(mappings[first - 1], mappings[first]):
        first -= 1
    while last + 1 < len(mappings) and _continues(mappings[last], mappings[last + 1]):
        last += 1
    return mappings[first].start, mappings[last].end


def whole_pages(run: tuple[int, int], size: int) -> tuple[int, int]:
    """The part of a run of addresses that consists of whole pages of a size."""
    return -(-run[0] // size) * size, run[1] // size * size


def _continues(one: Mapping, other: Mapping) -> bool:
    alike = one.name == other.name and one.end == other.start
    return alike and "w" not in one.mode + other.mode


def mappings(maps: str) -> list[Mapping]:
    """Parse ``/proc/self/maps``."""
    found = []
    for line in maps.splitlines():
        addresses, mode, _, _, _, *name = line.split(maxsplit=5)
        start, _, end = addresses.partition("-")
        found.append(Mapping(int(start, 16), int(end, 16), mode, "".join(name)))
    return found


def _move(start: int, length: int, size: int) -> int:
    """Copy the code, and let the copy take its place, at once and for good."""
    libc = _libc()
    room = libc.mmap(None, length + size, _READ_WRITE, _PRIVATE, -1, 0)
    if room == _FAILED:
        return 0
    copy = -(-room // size) * size
    moved = _fill(libc, copy, start, length) and (
        libc.mprotect(copy, length, mmap.PROT_READ | mmap.PROT_EXEC) == 0
        and libc.mremap(copy, length, length, _MREMAP_MAYMOVE | _MREMAP_FIXED, start) == start
    )
    # What was moved away may hold other memory by now.
    libc.munmap(room, copy - room)
    libc.munmap(copy + length, room + size - copy)
    if not moved:
        libc.munmap(copy, length)
    return length if moved else 0


def _fill(libc: ctypes.CDLL, copy: int, start: int, length: int) -> bool:
    """Copy into huge pages; False when the system has not given only such."""
    if libc.madvise(copy, length, _MADV_HUGEPAGE) != 0:
        return False
    ctypes.memmove(copy, start, length)
    return huge_bytes(Path("/proc/self/smaps").read_text(), copy) >= length


def huge_bytes(smaps: str, start: int) -> int:
    """Bytes in huge pages of the mapping that starts at an address; 0 when there is none."""
    lines = iter(smaps.splitlines())
    if not any(line.startswith(f"{start:08x}-") for line in lines):
        return 0
    huge = next(line for line in lines if line.startswith("AnonHugePages:"))
    return int(huge.split()[1]) * 1024


def _libc() -> ctypes.CDLL:
    """The C library, told which of the arguments are addresses and sizes."""
    libc = ctypes.CDLL(None)
    address, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    libc.mmap.argtypes = [address, size, number, number, number, ctypes.c_long]
    libc.mremap.argtypes = [address, size, size, number, address]
    libc.mmap.restype = libc.mremap.restype = ctypes.c_size_t
    for call in (libc.madvise, libc.mprotect):
        call.argtypes = [address, size, number]
    libc.munmap.argtypes = [address, size]
    return libc
