"""Memory that a child reads its task from and writes its results into.

A ``Desk`` stands ready in the zygote, so that a program's child has both without doing anything.
What does not fit there, and everything of a checker, which a program may not see, is handed to the
child as descriptors: a sealed task and a result area.
"""

import errno
import mmap
import os
import tempfile

from sandbox.inside.frames import Frame, parse

AREA_BYTES = 8 * 2**20
TASK_BYTES = 2**20

_KEPT_BYTES = mmap.PAGESIZE
_ZEROS = bytes(_KEPT_BYTES)
"""What most children write fits here; keeping it costs less than asking for it again each time."""

MEMORY_FILES = hasattr(os, "memfd_create")
"""Without them, on macOS, an unlinked file serves, which cannot be sealed; for ``minimal`` only."""

if MEMORY_FILES:
    import fcntl

    _NO_RESIZE = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
    _FUTURE_WRITE = 0x10  # F_SEAL_FUTURE_WRITE, Linux 5.1


def new_file(name: str) -> int:
    """A descriptor of an empty file that no folder has."""
    if MEMORY_FILES:
        return os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with tempfile.TemporaryFile(prefix=name) as file:
        return os.dup(file.fileno())


def _seal(fd: int, *, writable: bool) -> None:
    """Fix its size and, unless it is to be writable, its content."""
    if MEMORY_FILES:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _NO_RESIZE | (0 if writable else fcntl.F_SEAL_WRITE))


def _seal_to_others(fd: int) -> None:
    """Leave the maps that there are writable, and no other way."""
    if MEMORY_FILES:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _NO_RESIZE | _FUTURE_WRITE)


def sealed(data: bytes) -> int:
    """A descriptor of a memory file that holds the data and cannot be changed."""
    fd = new_file("task")
    view = memoryview(data)
    at = 0
    while at < len(data):
        at += os.pwrite(fd, view[at:], at)
    _seal(fd, writable=False)
    return fd


def _has_data(fd: int, start: int) -> bool:
    """Whether anything was ever written from there on, as far as the system can tell."""
    try:
        os.lseek(fd, start, os.SEEK_DATA)
    except OSError as error:
        return error.errno != errno.ENXIO
    return True


class Area:
    """A result area: memory that one child at a time writes frames into.

    Its size is sealed. It is used again for the next child, after ``clear``; the last one must
    have ended by then.
    """

    def __init__(self, size: int) -> None:
        self.fd = new_file("result")
        os.ftruncate(self.fd, size)
        _seal(self.fd, writable=True)
        self._map = mmap.mmap(self.fd, size)

    def __len__(self) -> int:
        return len(self._map)

    def read(self, at: int, most: int) -> tuple[list[Frame], int]:
        """Read the frames from an offset on, as ``frames.parse`` does."""
        return parse(self._map, at, most)

    def clear(self) -> None:
        """Make it all zeros again, and give memory back beyond the first pages."""
        self._map[:_KEPT_BYTES] = _ZEROS
        if not _has_data(self.fd, _KEPT_BYTES):
            return
        if MEMORY_FILES:
            self._map.madvise(mmap.MADV_REMOVE)
        else:
            self._map[:] = bytes(len(self._map))

    def close(self) -> None:
        """Give everything back."""
        self._map.close()
        os.close(self.fd)


class Desk:
    """A place for a task and a result area, which a zygote maps once and its children inherit.

    They can read the task and not change it. One program at a time sits at it; a task is put down
    when the one before has ended.

    Attributes:
        area: Where the results are written.
    """

    def __init__(self) -> None:
        self.area = Area(AREA_BYTES)
        self._fd = new_file("task")
        os.ftruncate(self._fd, TASK_BYTES)
        self._map = mmap.mmap(self._fd, TASK_BYTES)
        _seal_to_others(self._fd)
        self._used = 0

    @property
    def fds(self) -> tuple[int, int]:
        """Descriptors of the task's place and of the result area, for the zygote to map."""
        return self._fd, self.area.fd

    def put(self, task: bytes) -> bool:
        """Put a task down, so that nothing of the last one is left; False when it is too large."""
        size = len(task)
        if size > TASK_BYTES:
            return False
        self._map[:size] = task
        if size < self._used:
            self._map[size : self._used] = bytes(self._used - size)
        self._used = size
        return True

    def close(self) -> None:
        """Give everything back."""
        self._map.close()
        os.close(self._fd)
        self.area.close()
