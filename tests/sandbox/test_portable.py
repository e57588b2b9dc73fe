"""``minimal`` without what only Linux has: memory files, handles of processes, their clocks."""

import pytest

from sandbox import Call, Job, Kind, Limits, Sandbox, memory, process

SHORT = Limits(cpu_s=0.5, wall_s=2.0, load_cpu_s=0.5, program_cpu_s=2.0)


@pytest.fixture
def sandbox(monkeypatch):
    monkeypatch.setattr(process, "PIDFDS", False)
    monkeypatch.setattr(memory, "MEMORY_FILES", False)
    with Sandbox("minimal") as made:
        yield made


def kinds(sandbox, program, *calls):
    result = sandbox.run(Job("j", program, "f", calls or (Call("0", args="1"),), SHORT))
    return [outcome.kind for outcome in result.outcomes]


def test_programs_run_one_after_another(sandbox):
    for _ in range(3):
        assert kinds(sandbox, "def f(x): return [x] * 1000") == [Kind.VALUE]


@pytest.mark.parametrize("wait", ["pass", "__import__('time').sleep(60)"])
def test_a_program_that_does_not_end_is_killed(sandbox, wait):
    program = f"def f(x):\n    while x: {wait}"
    calls = tuple(Call(str(i), args=str(i)) for i in range(2))
    assert kinds(sandbox, program, *calls) == [Kind.VALUE, Kind.TIMEOUT]


def test_a_program_that_ends_the_process_has_crashed(sandbox):
    assert kinds(sandbox, "import os\ndef f(x): os._exit(3)") == [Kind.CRASH]


def test_processes_that_a_program_leaves_do_not_keep_it(sandbox):
    program = "import os, time\ndef f(x):\n    if os.fork() == 0: time.sleep(60)\n    return x"
    assert kinds(sandbox, program) == [Kind.VALUE]
    assert kinds(sandbox, "def f(x): return x") == [Kind.VALUE]


def test_a_check_drives_the_program_from_a_process_of_its_own(sandbox):
    call = Call("c", check="assert f(2) == 4")
    assert kinds(sandbox, "def f(x): return x * 2", call) == [Kind.VALUE]


def test_the_zygote_gives_no_handles(sandbox):
    assert sandbox._zygote.handle(1) is None
