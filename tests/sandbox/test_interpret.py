"""How a round's remains become outcomes."""

import json
import signal

import pytest

from sandbox.inside.frames import Code, Frame
from sandbox.inside.wire import CHECKER, PROGRAM
from sandbox.interpret import FORGED, Round, read_round
from sandbox.process import Ended
from sandbox.types import Call, Kind, Limits, Load
from sandbox.watch import Cause, Watched

LIMITS = Limits(cpu_s=1, wall_s=5, memory_mb=100)
PENDING = [(3, Call("c", args="")), (4, Call("d", args=""))]
CHECKS = [(3, Call("c", check="assert f()")), (4, Call("d", args=""))]
LOADED = Frame(Code.LOADED, 0, 0.0, "")
ERROR = '["MyError","ValueError","bad"]'


def value(test, body="1"):
    return Frame(Code.VALUE, test, 0.25, body)


def ended(status=0, cpu_s=0.1, peak_mb=10.0):
    return Ended(PROGRAM, status, cpu_s, peak_mb)


def read(frames, cause=Cause.THEMSELVES, end=None, checks=(), checker=None, **options):
    ends = {PROGRAM: end or ended()}
    if checker:
        ends[CHECKER] = checker
    pending = options.pop("pending", PENDING)
    round_ = Round(frames, list(checks), options.pop("malformed", False), Watched(cause, ends))
    return read_round(round_, pending, LIMITS)


def kinds(reading):
    return [outcome.kind for outcome in reading.outcomes]


def test_a_complete_round_gives_every_outcome():
    reading = read([LOADED, value(3), value(4, "2"), Frame(Code.END, 0, 0, "")])
    assert (reading.load, [o.encoding for o in reading.outcomes]) == (Load.OK, ["1", "2"])
    assert [o.test_id for o in reading.outcomes] == ["c", "d"]
    assert reading.outcomes[0].cpu_s == 0.25


@pytest.mark.parametrize(
    ("code", "body", "kind", "message"),
    [
        (Code.ERROR, ERROR, Kind.ERROR, "MyError: bad"),
        (Code.MEMORY, "", Kind.MEMORY, "out of memory"),
        (Code.OUTPUT, "printed 9", Kind.OUTPUT, "printed 9"),
        (Code.UNENCODABLE, "too deep", Kind.UNENCODABLE, "too deep"),
        (Code.NO_ARGS, ERROR, Kind.HARNESS, "no arguments: " + ERROR),
    ],
)
def test_each_frame_has_its_kind(code, body, kind, message):
    outcome = read([LOADED, Frame(code, 3, 0.0, body)]).outcomes[0]
    assert (outcome.kind, outcome.message) == (kind, message)


@pytest.mark.parametrize(
    ("cause", "end", "kind", "said"),
    [
        (Cause.CPU, ended(signal.SIGKILL), Kind.TIMEOUT, "used up its 1 s"),
        (Cause.THEMSELVES, ended(signal.SIGSEGV), Kind.CRASH, "SIGSEGV"),
        (Cause.THEMSELVES, ended(signal.SIGABRT), Kind.CRASH, "SIGABRT"),
        (Cause.THEMSELVES, ended(3 << 8), Kind.CRASH, "exit status 3"),
        (Cause.THEMSELVES, ended(0), Kind.CRASH, "exit status 0"),
        (Cause.THEMSELVES, ended(signal.SIGXCPU, cpu_s=20), Kind.TIMEOUT, "20.0 s"),
        (Cause.THEMSELVES, ended(signal.SIGKILL, peak_mb=90), Kind.MEMORY, "90 MiB"),
        (Cause.THEMSELVES, ended(signal.SIGKILL, peak_mb=20), Kind.CRASH, "SIGKILL"),
        (Cause.THEMSELVES, ended(signal.SIGRTMIN + 3), Kind.CRASH, "signal"),
    ],
)
def test_the_call_in_which_the_process_ended_says_how(cause, end, kind, said):
    reading = read([LOADED, value(3)], cause, end)
    assert kinds(reading) == [Kind.VALUE, kind]
    assert said in reading.outcomes[1].message


def test_a_sleeping_call_is_left_open():
    reading = read([LOADED, value(3)], Cause.SLEPT, ended(9))
    assert (kinds(reading), reading.slept) == ([Kind.VALUE], True)


def test_a_call_that_ran_unseen_has_used_its_time():
    reading = read([LOADED, value(3)], Cause.SLEPT, ended(9, cpu_s=0.25 + LIMITS.cpu_s))
    assert (kinds(reading), reading.slept) == ([Kind.VALUE, Kind.TIMEOUT], False)


def test_time_of_the_calls_before_is_not_the_last_one_s():
    frames = [LOADED, Frame(Code.VALUE, 3, 5.0, "3")]
    reading = read(frames, Cause.SLEPT, ended(9, cpu_s=5.0 + LIMITS.cpu_s / 2))
    assert reading.slept


def test_a_spent_program_keeps_what_it_had():
    reading = read([LOADED, value(3)], Cause.TOTAL, ended(9))
    assert (kinds(reading), reading.spent) == ([Kind.VALUE], True)


def test_a_full_area_leaves_the_rest_to_the_next_round():
    reading = read([LOADED, value(3), Frame(Code.FULL, 0, 0, "")])
    assert kinds(reading) == [Kind.VALUE]


@pytest.mark.parametrize(
    "frames",
    [
        [LOADED, value(4)],
        [LOADED, value(3, "{")],
        [LOADED, value(3, "[" * 10_000)],
        [LOADED, value(3, "1" * (LIMITS.encoding_bytes + 200))],
        [LOADED, Frame(Code.ERROR, 3, 0, "[1]")],
        [LOADED, Frame(Code.SERVED, 3, 0, "")],
        [LOADED, Frame(Code.HELD, 3, 0, "")],
        [LOADED, Frame(77, 3, 0, "")],
        [LOADED, Frame(Code.END, 0, 0, "")],
        [LOADED, Frame(Code.FULL, 0, 0, "")],
    ],
)
def test_what_our_child_would_not_write_is_a_crash(frames):
    outcome = read(frames).outcomes[0]
    assert (outcome.kind, outcome.message) == (Kind.CRASH, FORGED)


def test_forged_times_are_dropped():
    for cpu_s in [-1.0, float("nan"), float("inf")]:
        assert read([LOADED, Frame(Code.VALUE, 3, cpu_s, "1")]).outcomes[0].cpu_s == 0.0


def test_a_malformed_area_is_a_crash_of_the_running_call():
    reading = read([LOADED, value(3)], malformed=True)
    assert [o.message for o in reading.outcomes] == ["", FORGED]


@pytest.mark.parametrize(
    ("frames", "cause", "end", "load"),
    [
        ([Frame(Code.SYNTAX, 0, 0, ERROR)], Cause.THEMSELVES, ended(), Load.SYNTAX),
        ([Frame(Code.LOAD_ERROR, 0, 0, ERROR)], Cause.THEMSELVES, ended(), Load.ERROR),
        ([Frame(Code.LOAD_MEMORY, 0, 0, "")], Cause.THEMSELVES, ended(), Load.MEMORY),
        ([], Cause.CPU, ended(9), Load.TIMEOUT),
        ([], Cause.SLEPT, ended(9), Load.TIMEOUT),
        ([], Cause.TOTAL, ended(9), Load.TIMEOUT),
        ([], Cause.THEMSELVES, ended(signal.SIGSEGV), Load.CRASH),
        ([], Cause.THEMSELVES, ended(9, peak_mb=99), Load.MEMORY),
        ([value(3)], Cause.THEMSELVES, ended(), Load.CRASH),
    ],
)
def test_a_program_that_does_not_load_says_why(frames, cause, end, load):
    reading = read(frames, cause, end)
    assert reading.load is load
    assert reading.message
    assert reading.outcomes == []


def held(test=3, code=Code.HELD, kind=Code.VALUE, payload=""):
    return Frame(code, test, 0.5, json.dumps([int(kind), '["l",1]', payload]))


def test_a_check_s_outcome_comes_from_its_checker():
    frames = [LOADED, Frame(Code.SERVED, 3, 0, ""), value(4)]
    reading = read(frames, checks=[held()], pending=CHECKS)
    assert [(o.kind, o.held, o.encoding) for o in reading.outcomes] == [
        (Kind.VALUE, True, '["l",1]'),
        (Kind.VALUE, None, "1"),
    ]


def test_a_check_that_failed_says_so():
    failed = held(code=Code.FAILED, payload='["AssertionError","AssertionError","no"]')
    outcome = read([LOADED], checks=[failed], pending=CHECKS).outcomes[0]
    assert (outcome.kind, outcome.held, outcome.message) == (
        Kind.VALUE,
        False,
        "AssertionError: no",
    )


def test_a_program_s_own_error_in_a_check_is_its_error():
    failed = held(code=Code.FAILED, kind=Code.ERROR, payload=ERROR)
    outcome = read([LOADED], checks=[failed], pending=CHECKS).outcomes[0]
    assert (outcome.kind, outcome.encoding, outcome.held) == (Kind.ERROR, ERROR, False)


def test_a_program_cannot_speak_for_its_checker():
    for frame in [Frame(Code.SERVED, 3, 0, ""), value(3), held()]:
        outcome = read([LOADED, frame], pending=CHECKS).outcomes[0]
        assert (outcome.kind, outcome.held) == (Kind.CRASH, None)


def test_a_checker_that_breaks_on_the_program_s_values_is_the_program_s_crash():
    checker = Ended(CHECKER, signal.SIGSEGV, 0.1, 10.0)
    outcome = read([LOADED], pending=CHECKS, checker=checker).outcomes[0]
    assert (outcome.kind, "check" in outcome.message) == (Kind.CRASH, True)
