"""The budgets of a running test, without processes or clocks."""

from sandbox.clock import Spent
from sandbox.types import Limits
from sandbox.watch import LONGEST_TICK_S, Cause, Pace, Progress

LIMITS = Limits(cpu_s=1, wall_s=10, load_cpu_s=2)


def pace(total_cpu_s=100.0):
    return Pace(LIMITS, total_cpu_s, now=0.0)


def look(pace, frames, cpu_s, now, starved_s=0.0, done=False):
    return pace.look(Progress(frames, done), Spent(cpu_s, starved_s), now)[0]


def test_loading_has_its_own_budget():
    watched = pace()
    assert look(watched, 0, 1.5, 1.5) is None
    assert look(watched, 0, 2.0, 2.0) is Cause.CPU


def test_a_call_s_budget_counts_from_where_it_was_first_seen():
    watched = pace()
    assert look(watched, 1, 1.9, 1.9) is None
    assert look(watched, 1, 2.8, 2.8) is None
    assert look(watched, 1, 2.9, 2.9) is Cause.CPU


def test_each_call_has_a_budget_of_its_own():
    watched = pace()
    assert look(watched, 1, 0.0, 0.0) is None
    assert look(watched, 2, 0.9, 1.0) is None
    assert look(watched, 3, 1.8, 2.0) is None
    assert look(watched, 3, 2.81, 3.0) is Cause.CPU


def test_a_process_that_neither_runs_nor_waits_for_a_cpu_sleeps():
    watched = pace()
    assert look(watched, 1, 0.0, 0.0) is None
    assert look(watched, 1, 0.5, 10.4) is None
    assert look(watched, 1, 0.5, 10.5) is Cause.SLEPT


def test_waiting_for_a_cpu_is_not_sleeping():
    watched = pace()
    assert look(watched, 1, 0.0, 0.0) is None
    assert look(watched, 1, 0.5, 1000.0, starved_s=995.0) is None


def test_the_whole_program_has_a_budget():
    assert look(pace(total_cpu_s=3.0), 5, 3.0, 3.0) is Cause.TOTAL


def test_a_program_that_says_it_is_done_is_ended():
    assert look(pace(), 2, 0.1, 0.1, done=True) is Cause.THEMSELVES


def test_the_next_look_is_never_far_past_the_budget():
    watched = pace()
    assert watched.look(Progress(1, False), Spent(0, 0), 0.0)[1] == LONGEST_TICK_S
    assert watched.look(Progress(1, False), Spent(0.98, 0), 1.0)[1] < 0.03
