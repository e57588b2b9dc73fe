"""Memory handed to children: what seals and clearing promise."""

import fcntl
import mmap
import os

import pytest

from sandbox.inside.frames import Code, Writer
from sandbox.memory import AREA_BYTES, TASK_BYTES, Area, Desk, sealed


@pytest.fixture
def desk():
    desk = Desk()
    yield desk
    desk.close()


def test_a_sealed_task_cannot_be_changed():
    fd = sealed(b"task")
    try:
        with pytest.raises(PermissionError):
            os.pwrite(fd, b"x", 0)
        with pytest.raises(PermissionError):
            os.ftruncate(fd, 1)
    finally:
        os.close(fd)


def test_others_can_read_the_desk_s_task_and_not_write_it(desk):
    desk.put(b"a task")
    fd = os.dup(desk.fds[0])
    try:
        with mmap.mmap(fd, 0, access=mmap.ACCESS_READ) as seen:
            assert seen[:6] == b"a task"
        with pytest.raises(PermissionError):
            mmap.mmap(fd, 0)
        with pytest.raises(PermissionError):
            os.pwrite(fd, b"x", 0)
        with pytest.raises(PermissionError):
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, 0)
    finally:
        os.close(fd)


def test_a_shorter_task_leaves_nothing_of_a_longer_one(desk):
    desk.put(b"long task")
    desk.put(b"task")
    assert os.pread(desk.fds[0], 12, 0) == b"task".ljust(12, b"\0")


def test_a_task_that_is_too_large_is_refused(desk):
    assert desk.put(bytes(TASK_BYTES))
    assert not desk.put(bytes(TASK_BYTES + 1))


@pytest.mark.parametrize("at", [0, mmap.PAGESIZE - 1, mmap.PAGESIZE, AREA_BYTES - 1])
def test_a_cleared_area_is_all_zeros(at):
    area = Area(AREA_BYTES)
    try:
        with mmap.mmap(area.fd, 0) as written:
            written[at] = 7
            area.clear()
            assert written[:] == bytes(AREA_BYTES)
    finally:
        area.close()


def test_a_cleared_area_gives_its_memory_back():
    area = Area(AREA_BYTES)
    try:
        with mmap.mmap(area.fd, 0) as written:
            written[:] = b"x" * AREA_BYTES
        area.clear()
        assert os.fstat(area.fd).st_blocks * 512 <= mmap.PAGESIZE
    finally:
        area.close()


def test_an_area_gives_back_the_frames_that_were_written():
    area = Area(AREA_BYTES)
    try:
        with mmap.mmap(area.fd, 0) as written:
            writer = Writer(written)
            writer.write(Code.VALUE, 3, 0.5, "41")
            writer.close(Code.END)
        frames, _ = area.read(0, most=2)
    finally:
        area.close()
    assert [(frame.code, frame.test, frame.body) for frame in frames] == [
        (Code.VALUE, 3, "41"),
        (Code.END, 0, ""),
    ]
