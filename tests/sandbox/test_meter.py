"""A sandbox's whole CPU time."""

from sandbox import Call, Job, Limits, Sandbox
from sandbox.meter import Meter

BURNS = "def f(x):\n    return sum(range(x))"
TICKS_S = 0.05


def job(n):
    return Job("job", BURNS, "f", (Call("0", args=str(n)),), Limits(cpu_s=5.0))


def test_the_programs_time_is_part_of_the_whole():
    with Sandbox() as sandbox:
        meter = Meter(sandbox)
        result = sandbox.run(job(20_000_000))
        assert meter.lap() > result.cpu_s - TICKS_S > 0


def test_laps_add_up():
    with Sandbox() as sandbox:
        first, all_of_it = Meter(sandbox), Meter(sandbox)
        laps = 0.0
        for _ in range(3):
            sandbox.run(job(1000))
            laps += first.lap()
        assert abs(laps - all_of_it.lap()) < TICKS_S


def test_a_zygote_that_was_replaced_stays_counted():
    with Sandbox() as sandbox:
        meter = Meter(sandbox)
        spent = sandbox.run(job(20_000_000)).cpu_s
        sandbox._restart()
        assert meter.lap() > spent - TICKS_S
