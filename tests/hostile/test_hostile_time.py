"""Programs that do not end."""

import multiprocessing

from sandbox import Call, Job, Kind, Limits, Load, Sandbox

SPINS_ON_1 = """
def f(x):
    while x == 1:
        pass
    return x
"""


def test_an_endless_loop_times_out_and_its_neighbours_are_judged(owner):
    assert owner.kinds(SPINS_ON_1, "0", "1", "2") == [Kind.VALUE, Kind.TIMEOUT, Kind.VALUE]


def test_a_loop_that_catches_everything_and_ignores_all_signals_is_killed(owner):
    program = """
import signal
def f():
    for number in signal.valid_signals():
        try: signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError): pass
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    while True:
        try:
            while True: pass
        except BaseException: pass
"""
    assert owner.call(program).kind is Kind.TIMEOUT


def test_a_sleeper_times_out_after_two_tries_and_later_calls_still_run(owner):
    program = "import time\ndef f(x):\n    time.sleep(x)\n    return x"
    limits = Limits(cpu_s=0.5, wall_s=0.3)
    result = owner.run(program, "0", "60", "0", limits=limits)
    assert [o.kind for o in result.outcomes] == [Kind.VALUE, Kind.TIMEOUT, Kind.VALUE]
    assert "slept" in result.outcomes[1].message


def test_a_program_that_stops_itself_times_out(owner):
    program = "import os, signal\ndef f(): os.kill(os.getpid(), signal.SIGSTOP)"
    limits = Limits(cpu_s=0.5, wall_s=0.3)
    assert owner.call(program, limits=limits).kind is Kind.TIMEOUT


def test_loading_that_never_ends_is_a_load_timeout(owner):
    assert owner.run("while True: pass\ndef f(): pass").load is Load.TIMEOUT


def test_slow_loading_is_not_paid_for_again_without_bound(owner):
    program = """
import time
end = time.process_time() + 0.3
while time.process_time() < end: pass
def f():
    while True: pass
"""
    result = owner.run(program, *[""] * 40)
    kinds = [outcome.kind for outcome in result.outcomes]
    assert kinds[0] is Kind.TIMEOUT
    assert kinds[-1] is Kind.SKIPPED
    assert result.cpu_s < 10


def test_an_exception_whose_text_takes_for_ever_is_a_timeout(owner):
    program = """
class Slow(Exception):
    def __str__(self):
        while True: pass
def f(): raise Slow
"""
    assert owner.call(program).kind is Kind.TIMEOUT


def _burn(level: str, results: "multiprocessing.SimpleQueue[str]") -> None:
    program = """
import time
def f():
    end = time.process_time() + 0.5
    while time.process_time() < end: pass
    return 7
"""
    with Sandbox(level) as box:
        job = Job("burn", program, "f", (Call("0", args=""),), Limits(cpu_s=1.5, wall_s=2.0))
        results.put(box.run(job).outcomes[0].kind.value)


def test_a_right_program_on_an_overloaded_machine_never_times_out(sandbox_of_level):
    context = multiprocessing.get_context("spawn")
    results = context.SimpleQueue()
    crowd = [
        context.Process(target=_burn, args=(sandbox_of_level.level, results)) for _ in range(16)
    ]
    for process in crowd:
        process.start()
    for process in crowd:
        process.join()
    assert [results.get() for _ in crowd] == ["value"] * 16
