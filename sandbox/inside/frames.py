"""The result area: fixed shared memory into which a child writes one frame after another.

A frame is a header (length of the body plus one, code, test index, CPU seconds) and a body of
ASCII text. The length is written last, so a reader meets whole frames only; a length of 0 means
that nothing follows yet. The area's size is sealed, so a child can fill it and no more.

Whatever stands in the area was written by an untrusted process. It is believed about nothing but
"this is my output for input i"; see ``parse``.
"""

import mmap
import struct
from enum import IntEnum
from typing import NamedTuple

HEADER = struct.Struct("<IIfI")
_HEADER_BYTES = HEADER.size
_pack = HEADER.pack_into
_pack_length = struct.Struct("<I").pack_into


class Code(IntEnum):
    """What a frame says."""

    LOADED = 1
    SYNTAX = 2
    LOAD_ERROR = 3
    LOAD_MEMORY = 4
    VALUE = 5
    ERROR = 6
    MEMORY = 7
    OUTPUT = 8
    UNENCODABLE = 9
    NO_ARGS = 10
    SERVED = 11
    HELD = 12
    FAILED = 13
    FULL = 14
    END = 15


class Frame(NamedTuple):
    """One frame: its code, the test that it is about, CPU seconds as claimed, and the body."""

    code: int
    test: int
    cpu_s: float
    body: str


class Malformed(ValueError):
    """The area holds what our own child would never write."""


class Full(Exception):
    """The frame does not fit into the rest of the area."""


class Writer:
    """Writes frames into a shared memory map, in order."""

    def __init__(self, area: mmap.mmap) -> None:
        self._area = area
        self._at = 0

    def write(self, code: int, test: int, cpu_s: float, body: str) -> None:
        """Append one frame.

        Raises:
            Full: There is no room; the area is as it was.
        """
        data = body.encode("ascii", "backslashreplace")
        start = self._at
        body_at = start + _HEADER_BYTES
        end = body_at + len(data)
        area = self._area
        if end + _HEADER_BYTES > len(area):
            raise Full
        area[body_at:end] = data
        _pack(area, start, 0, test, cpu_s, code)
        _pack_length(area, start, len(data) + 1)
        self._at = end

    def close(self, code: int) -> None:
        """Append a last frame without a body; room for it is always kept."""
        _pack(self._area, self._at, 0, 0, 0.0, code)
        _pack_length(self._area, self._at, 1)


def parse(area: mmap.mmap, at: int, most: int) -> tuple[list[Frame], int]:
    """The whole frames of an area from an offset on, and the offset after them.

    A child may be writing at the same time, so nothing is read twice.

    Raises:
        Malformed: There are more than ``most``, a length runs past the end, or a body is not
            ASCII.
    """
    frames: list[Frame] = []
    while at + HEADER.size <= len(area):
        length, test, cpu_s, code = HEADER.unpack_from(area, at)
        if length == 0:
            break
        if len(frames) == most:
            raise Malformed("more frames than there are calls")
        body_at = at + HEADER.size
        at = body_at + length - 1
        if at > len(area):
            raise Malformed("a frame is longer than the area")
        try:
            body = area[body_at:at].decode("ascii")
        except UnicodeDecodeError as error:
            raise Malformed("a frame is not text") from error
        frames.append(Frame(code, test, cpu_s, body))
    return frames, at
