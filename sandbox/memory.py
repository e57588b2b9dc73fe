"""Memory that is handed to a child: a sealed task, and a result area of fixed size."""

import os
import tempfile

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


def result_area(size: int) -> int:
    """A descriptor of a zeroed memory file that can be written but not resized."""
    fd = _new_file("result")
    os.ftruncate(fd, size)
    _seal(fd, writable=True)
    return fd


def read_area(fd: int, size: int, start: int = 0) -> bytes:
    """What stands in an area from an offset on, in steps that stop at the first zero page.

    Frames are contiguous and their headers are never zero, so a chunk that ends in zeros is the
    last one that can matter.
    """
    parts: list[bytes] = []
    chunk = 1 << 12
    while start < size:
        part = os.pread(fd, min(chunk, size - start), start)
        if not part:
            break
        parts.append(part)
        start += len(part)
        if part.endswith(bytes(32)):
            break
        chunk = 1 << 20
    return b"".join(parts)
