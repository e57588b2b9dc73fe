"""Writing a journal: segments of its own for each process, each batch on disk before it counts."""

import asyncio
import os
import secrets
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from conf import UserError
from pipeline.address import Address
from pipeline.journal import JOURNAL, SUFFIX, Place, Request, journal_row, segment_files
from serve.messages import Completion

SEGMENT_BYTES = 8 * 2**20
COPIED_SEGMENT_BYTES = 2**18
"""A segment at an address is written there again with each batch, so it is left earlier."""


class JournalWriter:
    """Appends to segments of its own. For one event loop.

    Args:
        folder: the journal; it must exist.
        address: where it is kept beside; null: nowhere.

    Raises:
        UserError: the address cannot be reached.
    """

    def __init__(self, folder: Path, address: str | None = None) -> None:
        self._segments = _Segments(folder, Address(address) if address else None)
        self._waiting: list[tuple[dict[str, Any], asyncio.Future[Place]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def append(self, request: Request, answer: Completion, *, paid: bool = True) -> Place:
        """Write an answer and return when it is on disk.

        Args:
            request: what was asked.
            answer: what came.
            paid: whether an engine of this run made it.

        Raises:
            UserError: the disk is full or the journal cannot be written.
        """
        place: asyncio.Future[Place] = asyncio.get_running_loop().create_future()
        self._waiting.append((journal_row(request, answer, paid), place))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_all())
        return await place

    async def _write_all(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                places = await asyncio.to_thread(self._segments.write, [row for row, _ in batch])
            except (OSError, UserError) as error:
                why = _unwritable(self._segments.folder, error)
                for _, future in batch:
                    if not future.done():
                        future.set_exception(UserError(why))
            else:
                for (_, future), place in zip(batch, places, strict=True):
                    if not future.done():
                        future.set_result(place)
        self._writing = None


class _Segments:
    """The files of one writer; each is closed when it is full, or when the writer is gone."""

    def __init__(self, folder: Path, address: Address | None) -> None:
        self.folder = folder
        self._address = address
        self._full = COPIED_SEGMENT_BYTES if address else SEGMENT_BYTES
        self._name = f"{os.uname().nodename}-{os.getpid()}-{secrets.token_hex(4)}"
        self._count = 0
        self._path = folder
        self._fd = -1
        self._size = 0
        self._close: Callable[[], object] | None = None
        if address:
            _copy_missing(folder, address)

    def write(self, rows: list[dict[str, Any]]) -> list[Place]:
        """Append one record batch and wait for the disk."""
        content = pa.RecordBatch.from_pylist(rows, schema=JOURNAL).serialize()
        try:
            if self._close is None:
                self._open()
            offset = self._size
            self._append(content)
            os.fsync(self._fd)
            if self._address:
                self._address.write(self._path.name, self._path.read_bytes())
        except (OSError, UserError):
            # What was written of the batch must stay the segment's end.
            self._leave()
            raise
        if self._size >= self._full:
            self._leave()
        return [Place(self._path, offset, row) for row in range(len(rows))]

    def _open(self) -> None:
        self._path = self.folder / f"{self._name}-{self._count:04d}{SUFFIX}"
        self._count += 1
        self._size = 0
        self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        self._close = weakref.finalize(self, os.close, self._fd)
        self._append(JOURNAL.serialize())
        _sync_folder(self.folder)

    def _append(self, content: pa.Buffer) -> None:
        left = memoryview(content)
        while left:
            left = left[os.write(self._fd, left) :]
        self._size += len(content)

    def _leave(self) -> None:
        if self._close is not None:
            self._close()
        self._close = None


def _copy_missing(folder: Path, address: Address) -> None:
    """Bring to the address what a writer that died there did not bring there any more."""
    there = address.files()
    for segment in segment_files(folder):
        if there.get(segment.name) != segment.stat().st_size:
            address.write(segment.name, segment.read_bytes())


def _sync_folder(folder: Path) -> None:
    """Make a new file's name as durable as its content."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _unwritable(folder: Path, error: OSError | UserError) -> str:
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, FileNotFoundError):
        return (
            f"node {os.uname().nodename} does not see {folder}; runs_dir must lie on a file "
            f"system that all nodes share"
        )
    return f"cannot write under {folder}: {error.strerror or error}; free the disk, then go on"
