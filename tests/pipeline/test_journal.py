import asyncio
import errno
import os
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conf import UserError
from pipeline import journal, journal_writer
from pipeline.journal import JOURNAL, JournalIndex, Request, read_journal
from pipeline.journal_writer import JournalWriter
from serve import Completion, Prompt, Sampling

GREEDY = Sampling(max_tokens=8)
ANSWER = Completion("text", "rendered", 3, 2, "stop", -0.5, attempts=2)


def request(name="a/0/0/generate", prompt="p", sampling=GREEDY, model="m"):
    return Request.of(model, name, Prompt(text=prompt), sampling)


def write(folder, *entries):
    """Write answers with a writer of their own, all at once."""

    async def act():
        writer = JournalWriter(folder)
        return await asyncio.gather(*(writer.append(*entry) for entry in entries))

    return asyncio.run(act())


def only_segment(folder):
    (segment,) = folder.iterdir()
    return segment


def test_an_answer_comes_back_as_it_was(tmp_path):
    write(tmp_path, (request(), ANSWER))
    assert JournalIndex.load(tmp_path).find(request().key()) == ANSWER


def test_the_same_request_is_answered_under_any_name(tmp_path):
    write(tmp_path, (request(name="a/0/0/generate"), ANSWER))
    assert JournalIndex.load(tmp_path).find(request(name="b/0/3/generate").key()) == ANSWER


@pytest.mark.parametrize(
    "other",
    [
        request(sampling=replace(GREEDY, sample=1)),
        request(prompt="q"),
        request(model="n"),
        request(sampling=replace(GREEDY, max_tokens=9)),
        request(sampling=replace(GREEDY, temperature=0.5, seed=1)),
    ],
)
def test_another_request_is_not_answered(tmp_path, other):
    write(tmp_path, (request(), ANSWER))
    assert JournalIndex.load(tmp_path).find(other.key()) is None


def test_answers_that_arrive_together_share_a_record_batch(tmp_path):
    write(tmp_path, *((request(prompt=str(n)), ANSWER) for n in range(50)))
    batches = list(journal.read_segment(only_segment(tmp_path)))
    assert sum(batch.num_rows for _, batch in batches) == 50
    assert len(batches) < 5


def test_each_writer_has_a_file_of_its_own(tmp_path):
    write(tmp_path, (request("1", prompt="1"), ANSWER))
    write(tmp_path, (request("2", prompt="2"), ANSWER))
    assert len(list(tmp_path.iterdir())) == 2
    assert len(JournalIndex.load(tmp_path)) == 2


def test_a_full_segment_is_followed_by_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr(journal_writer, "SEGMENT_BYTES", 2000)

    async def act():
        writer = JournalWriter(tmp_path)
        for number in range(6):
            await writer.append(request(prompt=str(number)), ANSWER)

    asyncio.run(act())
    assert len(list(tmp_path.iterdir())) > 1
    assert len(JournalIndex.load(tmp_path)) == 6


def test_a_segment_is_a_plain_arrow_stream(tmp_path):
    write(tmp_path, (request(), ANSWER))
    with pa.ipc.open_stream(only_segment(tmp_path)) as stream:
        assert stream.read_all().schema == JOURNAL


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """The bytes of a segment of three record batches, and where each of them ends."""
    folder = tmp_path_factory.mktemp("three")

    async def act():
        writer = JournalWriter(folder)
        for number in range(3):
            await writer.append(request(prompt=str(number)), ANSWER)

    asyncio.run(act())
    content = only_segment(folder).read_bytes()
    starts = [offset for offset, _ in journal.read_segment(only_segment(folder))]
    return content, [*starts[1:], len(content)]


@given(data=st.data())
def test_a_segment_cut_anywhere_is_read_up_to_its_last_whole_batch(three, tmp_path_factory, data):
    content, ends = three
    size = data.draw(st.integers(0, len(content)))
    folder = tmp_path_factory.mktemp("cut")
    (folder / "x.arrows").write_bytes(content[:size])
    assert len(JournalIndex.load(folder)) == sum(end <= size for end in ends)


def test_a_hole_in_a_record_is_found_by_its_checksum(three, tmp_path):
    content, _ = three
    at = content.rindex(b"rendered")
    (tmp_path / "x.arrows").write_bytes(content[:at] + bytes(8) + content[at + 8 :])
    assert len(JournalIndex.load(tmp_path)) == 2


def test_a_segment_of_another_schema_is_refused(tmp_path):
    batch = pa.RecordBatch.from_pydict({"a": [1]})
    (tmp_path / "x.arrows").write_bytes(
        batch.schema.serialize().to_pybytes() + batch.serialize().to_pybytes()
    )
    with pytest.raises(UserError, match="another version"):
        JournalIndex.load(tmp_path)


def test_a_full_disk_is_told_in_one_line_and_loses_nothing_older(tmp_path, monkeypatch):
    async def act():
        writer = JournalWriter(tmp_path)
        await writer.append(request("1", prompt="1"), ANSWER)
        with monkeypatch.context() as patch:
            patch.setattr(journal_writer.os, "write", fill_up)
            with pytest.raises(UserError, match="No space left"):
                await writer.append(request("2", prompt="2"), ANSWER)
        await writer.append(request("3", prompt="3"), ANSWER)

    write_some, room = os.write, [20]

    def fill_up(fd, content):
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write_some(fd, content[: room.pop()])

    asyncio.run(act())
    found = read_journal(tmp_path)["request_id"].to_pylist()
    assert sorted(found) == ["1", "3"]


def test_a_node_that_does_not_see_the_folder_says_so(tmp_path):
    with pytest.raises(UserError, match="file system that all nodes share"):
        write(tmp_path / "elsewhere", (request(), ANSWER))
