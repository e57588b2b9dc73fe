"""JSON lines that are only ever appended to."""

import json
import math
from collections import deque
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


class Lines:
    """A file of one JSON object a line; each carries its number and the time.

    A killed writer may leave half a line. The next one begins a line of its own after it, and
    ``read_lines`` passes it over.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        content = path.read_bytes() if path.is_file() else b""
        self._torn = bool(content) and not content.endswith(b"\n")
        self.count = content.count(b"\n") + self._torn

    def append(self, row: Mapping[str, Any]) -> int:
        """Write a line and return its number, from 0."""
        number = self.count
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        text = json.dumps({"line": number, "time": now, **_finite(row)}, ensure_ascii=False)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(("\n" if self._torn else "") + text + "\n")
        self._torn = False
        self.count += 1
        return number


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the whole lines of a file; none if there is no file."""
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue  # half a line of a killed writer
        if isinstance(row, dict):
            yield row


def last_line(path: Path) -> dict[str, Any]:
    """Return the last whole line of a file; nothing if there is none."""
    return next(iter(deque(read_lines(path), maxlen=1)), {})


def _finite(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in row.items()
    }
