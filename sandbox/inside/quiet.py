"""Standard streams of a program: input is empty, output is counted and forgotten."""

import io
import sys
from typing import Any


class _Sink(io.RawIOBase):
    """Takes any amount of text and keeps its length only."""

    taken = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        size = len(data)
        self.taken += size
        return size


class Streams:
    """Replaces ``sys.stdin``, ``stdout`` and ``stderr``; made once, before the forks."""

    def __init__(self) -> None:
        self._sinks = (_Sink(), _Sink())
        self._out, self._err = (
            io.TextIOWrapper(io.BufferedWriter(sink), encoding="utf-8", errors="backslashreplace")
            for sink in self._sinks
        )
        empty = io.BufferedReader(io.BytesIO(b""))
        self._in = io.TextIOWrapper(empty, encoding="utf-8")

    def install(self) -> None:
        """Make them the interpreter's own."""
        sys.stdin = sys.__stdin__ = self._in  # type: ignore[misc]
        sys.stdout = sys.__stdout__ = self._out  # type: ignore[misc]
        sys.stderr = sys.__stderr__ = self._err  # type: ignore[misc]

    def start(self) -> None:
        """Count from 0 again."""
        for sink in self._sinks:
            sink.taken = 0

    def printed(self) -> int:
        """Bytes printed since ``start``; a stream that the program closed counts no more."""
        for stream in (self._out, self._err):
            try:
                stream.flush()
            except ValueError:
                continue
        return sum(sink.taken for sink in self._sinks)
