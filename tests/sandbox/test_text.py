"""The interpreter's code in huge pages: which addresses, and that it is the same code."""

import os
import signal
import subprocess
import sys

import pytest

from sandbox.inside.text import ends_well, huge_bytes, mappings, read_only_run, whole_pages

MAPS = """\
55d000000000-55d000001000 r--p 00000000 fe:00 1   /usr/bin/python3.11
7f0000000000-7f0000100000 r--p 00000000 fe:00 26  /usr/lib/my python.so
7f0000100000-7f0000500000 r-xp 00100000 fe:00 26  /usr/lib/my python.so
7f0000500000-7f0000600000 rw-p 00500000 fe:00 26  /usr/lib/my python.so
7f0000600000-7f0000700000 rw-p 00000000 00:00 0
7f0000800000-7f0000900000 r--p 00000000 fe:00 26  /usr/lib/my python.so
"""
SMAPS = """\
7f0000000000-7f0000400000 rw-p 00000000 00:00 0
AnonHugePages:      4096 kB
VmFlags: rd wr
7f0000400000-7f0000500000 rw-p 00000000 00:00 0
AnonHugePages:         0 kB
VmFlags: rd wr
"""
SAME_CODE = """
import ctypes
from pathlib import Path
from sandbox.inside import text

inside = ctypes.cast(ctypes.pythonapi.PyObject_Call, ctypes.c_void_p).value
start, end = text.read_only_run(text.mappings(Path("/proc/self/maps").read_text()), inside)
before = ctypes.string_at(start, end - start)
moved = text.move_to_huge_pages()
assert ctypes.string_at(start, end - start) == before
smaps = Path("/proc/self/smaps").read_text()
starts = [m.start for m in text.mappings(Path("/proc/self/maps").read_text())]
assert moved == sum(text.huge_bytes(smaps, at) for at in starts if start <= at < end), moved
"""


def test_the_run_around_an_address_has_no_writable_part_and_no_gap():
    found = read_only_run(mappings(MAPS), 0x7F0000200000)
    assert found == (0x7F0000000000, 0x7F0000500000)


def test_names_may_hold_blanks_and_may_be_missing():
    assert [m.name for m in mappings(MAPS)][3:5] == ["/usr/lib/my python.so", ""]


@pytest.mark.parametrize(
    ("run", "whole"),
    [((0, 8), (0, 8)), ((1, 8), (4, 8)), ((0, 7), (0, 4)), ((3, 9), (4, 8)), ((1, 4), (4, 4))],
)
def test_only_whole_pages_are_taken(run, whole):
    assert whole_pages(run, 4) == whole


@pytest.mark.parametrize(
    ("start", "size"), [(0x7F0000000000, 4 << 20), (0x7F0000400000, 0), (0x7F0000200000, 0)]
)
def test_huge_pages_are_those_of_one_mapping(start, size):
    assert huge_bytes(SMAPS, start) == size


def test_what_a_child_does_well_may_be_done():
    assert ends_well(lambda: 4096, 60)


@pytest.mark.parametrize(
    "act",
    [
        lambda: 0,
        lambda: 1 / 0,
        lambda: os.kill(os.getpid(), signal.SIGKILL),
        lambda: os.kill(os.getpid(), signal.SIGSTOP),
    ],
    ids=["nothing done", "an exception", "a crash", "a hang"],
)
def test_what_a_child_does_not_do_well_may_not(act):
    assert not ends_well(act, 0.5)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_code_is_the_same_after_the_move():
    ran = subprocess.run([sys.executable, "-c", SAME_CODE], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
