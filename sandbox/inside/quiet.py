"""Standard streams of a program: input is empty, output is counted and forgotten."""

import io
import sys
from typing import Any


class Streams(io.RawIOBase):
    """Replaces ``sys.stdin``, ``stdout`` and ``stderr``; made once, before the forks.

    It is itself the raw end of both outputs: it takes any amount and keeps its length only.

    Attributes:
        taken: Bytes that have arrived; what is still buffered arrives by ``drain``.
    """

    def __init__(self) -> None:
        self.taken = 0
        self._out = self._writer()
        self._err = self._writer()
        empty = io.BufferedReader(io.BytesIO(b""))
        self._in = io.TextIOWrapper(empty, encoding="utf-8")

    def _writer(self) -> io.TextIOWrapper:
        buffer = io.BufferedWriter(self)
        return io.TextIOWrapper(buffer, encoding="utf-8", errors="backslashreplace")

    def install(self) -> None:
        """Make them the interpreter's own."""
        sys.stdin = sys.__stdin__ = self._in  # type: ignore[misc]
        sys.stdout = sys.__stdout__ = self._out  # type: ignore[misc]
        sys.stderr = sys.__stderr__ = self._err  # type: ignore[misc]

    def writable(self) -> bool:
        """As every raw output stream."""
        return True

    def write(self, data: Any) -> int:
        """Count the bytes."""
        size = len(data)
        self.taken += size
        return size

    def close(self) -> None:
        """Stay open, whatever a program closes: there is nothing to give back."""

    def drain(self) -> None:
        """Have all that was printed arrive; a stream that the program closed counts no more."""
        for stream in (self._out, self._err):
            try:
                stream.flush()
            except ValueError:
                continue
