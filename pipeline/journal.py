"""The completion journal: every answer of the engine, on disk before anything is built on it.

A journal is a folder of segments. A segment is an Arrow IPC stream of schema ``JOURNAL``, written
by one process and only ever appended to: no two processes share a file, so nothing needs a lock,
not even on a shared file system. Answers that arrive while the disk is busy are written together,
as one record batch, and each is handed on after ``fsync``: what a stage has seen is in the journal.

A process that dies leaves at most one half record batch at the end of its last segment. Reading
stops there; nothing is repaired, because the next process begins a segment of its own. A machine
that dies may leave a batch of the right length with holes in it; a checksum finds those.

The journal of a run at an address is kept there too: an answer is handed on when its segment lies
there with it. A segment there is always a beginning of the one here, so it reads like one.

The index keeps only the place of each answer in memory and reads the answer when it is asked for.
"""

import hashlib
import json
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from conf import UserError
from serve.messages import Completion, Prompt, Sampling

SUFFIX = ".arrows"

JOURNAL = pa.schema(
    [
        pa.field("request_id", pa.string(), nullable=False),
        pa.field("model", pa.string(), nullable=False),  # model identity, as in the manifest
        pa.field("prompt_key", pa.string(), nullable=False),
        pa.field("sampling", pa.string(), nullable=False),  # canonical JSON, seed included
        pa.field("sample", pa.int32(), nullable=False),  # which draw of the same request
        pa.field("text", pa.large_string(), nullable=False),
        pa.field("rendered_prompt", pa.large_string(), nullable=False),
        pa.field("prompt_tokens", pa.int32(), nullable=False),
        pa.field("completion_tokens", pa.int32(), nullable=False),
        pa.field("finish_reason", pa.string(), nullable=False),
        pa.field("logprob", pa.float64()),
        pa.field("attempts", pa.int32(), nullable=False),
        pa.field("paid", pa.bool_(), nullable=False),  # false: taken from another run's journal
        pa.field("arrived_at", pa.float64(), nullable=False),  # seconds since 1970
        pa.field("checksum", pa.uint32(), nullable=False),  # CRC-32 of all the others
    ]
)


@dataclass(frozen=True, slots=True)
class Request:
    """What an answer belongs to: model, exact prompt, sampling parameters and sample index.

    The name (problem, chain, step, role) says who asked first and is no part of the identity: two
    chains or two runs that need the same completion share it.
    """

    request_id: str
    model: str
    prompt_key: str
    sampling: str
    sample: int

    @classmethod
    def of(cls, model: str, request_id: str, prompt: Prompt, sampling: Sampling) -> "Request":
        """Return the request that asks ``model`` this."""
        return cls(request_id, model, prompt.key(), sampling.to_json(), sampling.sample)

    def key(self) -> bytes:
        """Return a digest of all but the name: 16 bytes."""
        parts = (self.model, self.prompt_key, self.sampling, str(self.sample))
        return hashlib.sha256("\0".join(parts).encode()).digest()[:16]


@dataclass(frozen=True, slots=True)
class Place:
    """Where an answer lies: a row of the record batch at this offset of a segment."""

    segment: Path
    offset: int
    row: int


class JournalIndex:
    """Finds answers in one or more journals; holds about 300 bytes for each."""

    def __init__(self) -> None:
        self._places: dict[bytes, Place] = {}

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Index all segments of a journal; see ``read_answers``."""
        index = cls()
        for recorded in read_answers(folder):
            index.add(recorded.request.key(), recorded.place)
        return index

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: bytes) -> bool:
        return key in self._places

    def add(self, key: bytes, place: Place) -> None:
        """Remember an answer; the first one of a request stays."""
        self._places.setdefault(key, place)

    def find(self, key: bytes) -> Completion | None:
        """Return the answer to the request with this key; None if it is not there."""
        place = self._places.get(key)
        return None if place is None else _read_place(place)


@dataclass(frozen=True, slots=True)
class Recorded:
    """One answer of a journal, without its text."""

    request: Request
    place: Place
    tokens: int
    """Read and written."""
    paid: bool
    """Whether an engine of this run made it."""


def read_answers(folder: Path) -> Iterator[Recorded]:
    """Yield the answers of a journal, of each segment up to its last whole record batch.

    Raises:
        UserError: a segment has another schema.
    """
    for segment in segment_files(folder):
        for offset, batch in read_segment(segment):
            for number, row in enumerate(batch.to_pylist()):
                if row.pop("checksum") == _checksum(row):
                    yield Recorded(
                        Request(*(row[name] for name in Request.__match_args__)),
                        Place(segment, offset, number),
                        row["prompt_tokens"] + row["completion_tokens"],
                        row["paid"],
                    )


def read_segment(path: Path) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield each whole record batch of a segment with its offset in the file.

    Raises:
        UserError: the segment has another schema.
    """
    with pa.OSFile(str(path)) as source:
        reader = pa.ipc.MessageReader.open_stream(source)
        while True:
            offset = source.tell()
            try:
                message = reader.read_next_message()
            except (StopIteration, OSError, pa.ArrowInvalid):
                return  # the end, or what a killed writer left of its last batch
            if message.type == "record batch":
                yield offset, pa.ipc.read_record_batch(message, JOURNAL)
            elif pa.ipc.read_schema(message) != JOURNAL:
                raise UserError(f"{path} was written by another version of Holdtrue")


def read_journal(folder: Path) -> pa.Table:
    """Return all answers of a journal, schema JOURNAL."""
    batches = [batch for segment in segment_files(folder) for _, batch in read_segment(segment)]
    return pa.Table.from_batches(batches, schema=JOURNAL)


def segment_files(folder: Path) -> list[Path]:
    """Return the segments of a journal, in the order of their names."""
    return sorted(folder.glob(f"*{SUFFIX}"))


def _read_place(place: Place) -> Completion:
    with pa.OSFile(str(place.segment)) as source:
        source.seek(place.offset)
        batch = pa.ipc.read_record_batch(pa.ipc.read_message(source), JOURNAL)
    (row,) = batch.slice(place.row, 1).to_pylist()
    return Completion(**{field.name: row[field.name] for field in fields(Completion)})


def journal_row(request: Request, answer: Completion, paid: bool) -> dict[str, Any]:
    """Return what a journal keeps of an answer that has just arrived; schema JOURNAL."""
    row: dict[str, Any] = {name: getattr(request, name) for name in Request.__match_args__}
    row |= {name: getattr(answer, name) for name in Completion.__match_args__}
    row |= {"paid": paid, "arrived_at": time.time()}
    row["checksum"] = _checksum(row)
    return row


def _checksum(row: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(row, sort_keys=True).encode())
