"""Programs that take too much: memory, output, files."""

import pytest

from sandbox import Kind, Limits, Load

FOUR_GB = """
def f(x):
    keep = []
    if x:
        for _ in range(64): keep.append(bytearray(b'x') * (64 * 2**20))
    return x
"""


def test_memory_in_pieces_is_a_memory_outcome_and_its_neighbours_are_judged(owner):
    limits = Limits(memory_mb=256)
    assert owner.kinds(FOUR_GB, "0", "1", "0", limits=limits) == [
        Kind.VALUE,
        Kind.MEMORY,
        Kind.VALUE,
    ]


def test_memory_taken_while_loading_is_a_load_failure(owner):
    assert owner.run("x = [0] * 10**9\ndef f(): return 1").load is Load.MEMORY


def test_swallowed_memory_errors_leave_a_time_out(owner):
    program = """
def f():
    while True:
        try: x = [0] * 10**9
        except MemoryError: pass
"""
    assert owner.call(program).kind is Kind.TIMEOUT


def test_printing_too_much_is_an_output_outcome(owner):
    program = "def f():\n    for _ in range(200): print('x' * 2**20)\n    return 1"
    outcome = owner.call(program)
    assert outcome.kind is Kind.OUTPUT
    assert str(200 * (2**20 + 1)) in outcome.message


def test_printing_to_stderr_counts_too(owner):
    program = "import sys\ndef f(): sys.stderr.write('x' * 2**20)"
    assert owner.call(program).kind is Kind.OUTPUT


def test_printing_a_little_is_fine_in_every_call(owner):
    program = "def f():\n    print('x' * 100_000)\n    return 1"
    assert owner.kinds(program, *[""] * 5) == [Kind.VALUE] * 5


def test_the_raw_descriptors_lead_nowhere(owner):
    program = """
import os
def f():
    for fd in range(64):
        for _ in range(50):
            try: os.write(fd, b'x' * 2**20)
            except OSError: break
    return 1
"""
    assert owner.call(program).kind in (Kind.VALUE, Kind.CRASH)


def test_closing_every_descriptor_does_not_hide_the_outcome(owner):
    program = "import os\ndef f():\n    os.closerange(0, 64)\n    return 1"
    assert owner.call(program).encoding == "1"


def test_closed_streams_do_not_hide_the_outcome(owner):
    program = "import sys\ndef f():\n    sys.stdout.close(); sys.stderr.close()\n    return 1"
    assert owner.kinds(program, "", "") == [Kind.VALUE, Kind.VALUE]


@pytest.mark.parametrize(
    "write",
    [
        "open(FOLDER + '/big', 'w').write('x' * 10**8)",
        "os.truncate(FOLDER + '/canary', 10**9)",
        "os.ftruncate(os.memfd_create('x'), 10**9)",
        "tempfile.TemporaryFile().write(b'x')",
        "os.mkfifo(FOLDER + '/fifo')",
        "os.symlink('/', FOLDER + '/link')",
        "os.rename(FOLDER + '/canary', FOLDER + '/moved')",
        "os.remove(FOLDER + '/canary')",
        "os.chmod(FOLDER + '/canary', 0)",
        "os.utime(FOLDER + '/canary', (0, 0))",
        "open('/dev/shm/x', 'w')",
        "sqlite3.connect(FOLDER + '/x.db').execute('create table t (a)')",
    ],
)
def test_no_file_can_be_made_or_changed(owner, write):
    program = f"import os, sqlite3, tempfile\ndef f(FOLDER):\n    {write}"
    assert owner.call(program, repr(str(owner.folder))).kind is Kind.ERROR
