"""Standard streams of a program: input is empty, output is counted and forgotten."""

import io
import sys
from typing import Any

HELD_BACK = 2 * (8192 + io.DEFAULT_BUFFER_SIZE)
"""Bytes that the two streams may hold before they come to be counted."""


class _Sink(io.RawIOBase):
    """Takes any amount of text and keeps its length only."""

    def __init__(self, taken: list[int]) -> None:
        self._taken = taken

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        size = len(data)
        self._taken[0] += size
        return size


class Streams:
    """Replaces ``sys.stdin``, ``stdout`` and ``stderr``; made once, before the forks.

    Attributes:
        taken: One number: bytes that have arrived since it was last set.
    """

    def __init__(self) -> None:
        self.taken = [0]
        self._out, self._err = (
            io.TextIOWrapper(
                io.BufferedWriter(_Sink(self.taken)), encoding="utf-8", errors="backslashreplace"
            )
            for _ in range(2)
        )
        empty = io.BufferedReader(io.BytesIO(b""))
        self._in = io.TextIOWrapper(empty, encoding="utf-8")

    def install(self) -> None:
        """Make them the interpreter's own."""
        sys.stdin = sys.__stdin__ = self._in  # type: ignore[misc]
        sys.stdout = sys.__stdout__ = self._out  # type: ignore[misc]
        sys.stderr = sys.__stderr__ = self._err  # type: ignore[misc]

    def printed(self) -> int:
        """Bytes that came since ``taken`` was set; a stream that was closed counts no more."""
        for stream in (self._out, self._err):
            try:
                stream.flush()
            except ValueError:
                continue
        return self.taken[0]
