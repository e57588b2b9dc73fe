"""The terminal belongs to the user: whatever libraries print goes to the run's log.

Ray, its workers and vLLM write to file descriptors 1 and 2 themselves, so the descriptors are
redirected, not Python's objects. Our own words go to a duplicate of the real terminal.

A disk that is full takes no log either. What libraries print through Python's objects is dropped
then: an error out of a ``print`` of theirs would take the place of the error that says so.
"""

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


class _Log(io.FileIO):
    """A descriptor to which a full disk is no error."""

    def write(self, content: Any, /) -> int:
        try:
            return super().write(content)
        except OSError as error:
            if error.errno not in _FULL:
                raise
            return len(content)


@contextmanager
def captured_output(log: Path) -> Iterator[Console]:
    """Send descriptors 1 and 2 to a log file; yield a console on the real standard output."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    sink = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    terminal = os.fdopen(os.dup(saved[0]), "w", encoding="utf-8", errors="replace")
    streams = sys.stdout, sys.stderr
    try:
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        sys.stdout, sys.stderr = _open_log(1), _open_log(2)
        yield Console(file=terminal, highlight=False, soft_wrap=not terminal.isatty())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = streams
        terminal.close()
        os.dup2(saved[0], 1)
        os.dup2(saved[1], 2)
        for descriptor in (*saved, sink):
            os.close(descriptor)


def _open_log(descriptor: int) -> io.TextIOWrapper:
    log = io.BufferedWriter(_Log(descriptor, "w", closefd=False))
    return io.TextIOWrapper(log, encoding="utf-8", errors="replace", line_buffering=True)
