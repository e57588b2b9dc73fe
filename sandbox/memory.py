"""Memory that is handed to a child: a sealed task, and a result area of fixed size."""

import mmap
import os
import tempfile

from sandbox.inside.frames import Frame, parse

if hasattr(os, "memfd_create"):
    import fcntl

    _NO_RESIZE = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL

    def _new_file(name: str) -> int:
        return os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)

    def _seal(fd: int, *, writable: bool) -> None:
        seals = _NO_RESIZE if writable else _NO_RESIZE | fcntl.F_SEAL_WRITE
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)

else:  # macOS: an unlinked file, which only the minimal level uses

    def _new_file(name: str) -> int:
        with tempfile.TemporaryFile(prefix=name) as file:
            return os.dup(file.fileno())

    def _seal(fd: int, *, writable: bool) -> None:
        del fd, writable


def sealed(data: bytes) -> int:
    """A descriptor of a memory file that holds the data and cannot be changed."""
    fd = _new_file("task")
    view = memoryview(data)
    at = 0
    while at < len(data):
        at += os.pwrite(fd, view[at:], at)
    _seal(fd, writable=False)
    return fd


class Area:
    """A result area: memory that one child at a time writes frames into.

    Its size is sealed. It is used again for the next child, after ``clear``; the last one must
    have ended by then.
    """

    def __init__(self, size: int) -> None:
        self.fd = _new_file("result")
        os.ftruncate(self.fd, size)
        _seal(self.fd, writable=True)
        self._map = mmap.mmap(self.fd, size)

    def __len__(self) -> int:
        return len(self._map)

    def read(self, at: int, most: int) -> tuple[list[Frame], int]:
        """Read the frames from an offset on, as ``frames.parse`` does."""
        return parse(self._map, at, most)

    def clear(self) -> None:
        """Make it all zeros again, and give its memory back."""
        if hasattr(mmap, "MADV_REMOVE"):
            self._map.madvise(mmap.MADV_REMOVE)
        else:
            self._map[:] = bytes(len(self._map))

    def close(self) -> None:
        """Give everything back."""
        self._map.close()
        os.close(self.fd)
