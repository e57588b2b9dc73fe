"""The terminal belongs to the user: whatever libraries print goes to the run's log.

Ray, its workers and vLLM write to file descriptors 1 and 2 themselves, so the descriptors are
redirected, not Python's objects. Our own words go to a duplicate of the real terminal.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console


@contextmanager
def captured_output(log: Path) -> Iterator[Console]:
    """Send descriptors 1 and 2 to a log file; yield a console on the real standard output."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    sink = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    terminal = os.fdopen(os.dup(saved[0]), "w", encoding="utf-8", errors="replace")
    try:
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        yield Console(file=terminal, highlight=False, soft_wrap=not terminal.isatty())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        terminal.close()
        os.dup2(saved[0], 1)
        os.dup2(saved[1], 2)
        for descriptor in (*saved, sink):
            os.close(descriptor)
