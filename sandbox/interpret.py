"""From what a round left behind to outcomes; pure, so every rule can be tested by itself.

A round is one fork: the program's child loads the program and works through the pending calls. It
ends with all of them done, or within one of them; that one's outcome follows from how the process
ended. The calls after it are the next round's.
"""

import json
import signal
from dataclasses import dataclass, field

from sandbox.decoding import loads
from sandbox.inside.frames import Code, Frame
from sandbox.inside.wire import CHECKER, PROGRAM
from sandbox.process import Ended
from sandbox.types import Call, Kind, Limits, Load, Outcome
from sandbox.watch import Cause, Watched

FORGED = "the program wrote into its own result area"

_KINDS: dict[int, Kind] = {
    Code.VALUE: Kind.VALUE,
    Code.ERROR: Kind.ERROR,
    Code.MEMORY: Kind.MEMORY,
    Code.OUTPUT: Kind.OUTPUT,
    Code.UNENCODABLE: Kind.UNENCODABLE,
    Code.NO_ARGS: Kind.HARNESS,
}

_LOAD_FAILURES = {
    Code.SYNTAX: Load.SYNTAX,
    Code.LOAD_ERROR: Load.ERROR,
    Code.LOAD_MEMORY: Load.MEMORY,
}


@dataclass(frozen=True, slots=True)
class Round:
    """What one fork left: frames of the program and of its checker, and how they ended."""

    frames: list[Frame]
    checks: list[Frame]
    malformed: bool
    watched: Watched


@dataclass(frozen=True, slots=True)
class Reading:
    """What a round means.

    Attributes:
        load: Whether the program loaded.
        message: Why not.
        outcomes: Of the pending calls, from the first on, as far as they are known.
        slept: The call after them slept through its budget; whether that counts is not decided.
        spent: The program used up its whole CPU allowance: what is left is not run.
    """

    load: Load
    message: str = ""
    outcomes: list[Outcome] = field(default_factory=list)
    slept: bool = False
    spent: bool = False


def read_round(round_: Round, pending: list[tuple[int, Call]], limits: Limits) -> Reading:
    """Interpret one round over its pending calls (index and call)."""
    frames = round_.frames
    if not frames:
        return _not_loaded(round_, limits)
    first = frames[0].code
    if first in _LOAD_FAILURES:
        load = _LOAD_FAILURES[Code(first)]
        text = "out of memory" if load is Load.MEMORY else exception_message(frames[0].body)
        return Reading(load, text)
    if first != Code.LOADED:
        return Reading(Load.CRASH, FORGED)
    return _read_calls(round_, pending, limits)


def _read_calls(round_: Round, pending: list[tuple[int, Call]], limits: Limits) -> Reading:
    checks = {
        frame.test: frame for frame in round_.checks if frame.code in (Code.HELD, Code.FAILED)
    }
    outcomes: list[Outcome] = []
    rest = round_.frames[1:]
    for (index, call), frame in zip(pending, rest, strict=False):
        if frame.code in (Code.END, Code.FULL):
            break
        if call.check is not None and index in checks:
            outcomes.append(_of_check(call, checks[index]))
            continue
        outcome = _of_frame(call, index, frame, limits)
        outcomes.append(outcome or Outcome(call.test_id, Kind.CRASH, message=FORGED))
        if outcome is None:
            return Reading(Load.OK, outcomes=outcomes)
    return _read_end(round_, pending, outcomes, checks, limits)


def _read_end(
    round_: Round,
    pending: list[tuple[int, Call]],
    outcomes: list[Outcome],
    checks: dict[int, Frame],
    limits: Limits,
) -> Reading:
    """Judge the call in which the round ended, if it ended in one."""
    done = len(outcomes)
    last = round_.frames[-1].code if len(round_.frames) == done + 2 else None
    if done == len(pending):
        return Reading(Load.OK, outcomes=outcomes)
    if last == Code.FULL and done:
        return Reading(Load.OK, outcomes=outcomes)
    index, call = pending[done]
    if call.check is not None and index in checks:
        return Reading(Load.OK, outcomes=[*outcomes, _of_check(call, checks[index])])
    cause = round_.watched.cause
    if last is not None or (round_.malformed and cause is Cause.THEMSELVES):
        kind, message = Kind.CRASH, FORGED
    elif cause is Cause.TOTAL:
        return Reading(Load.OK, outcomes=outcomes, spent=True)
    elif cause is Cause.SLEPT and _used_since_last_frame(round_) < limits.cpu_s:
        return Reading(Load.OK, outcomes=outcomes, slept=True)
    elif cause in (Cause.SLEPT, Cause.CPU):
        kind, message = Kind.TIMEOUT, f"used up its {limits.cpu_s:g} s of CPU time"
    else:
        kind, message = _how_it_ended(round_.watched, limits, limits.cpu_s)
    return Reading(Load.OK, outcomes=[*outcomes, Outcome(call.test_id, kind, message=message)])


def _used_since_last_frame(round_: Round) -> float:
    """CPU seconds of the call in which the round ended.

    On a system that shows no clock of a running process, one that computes looks asleep, and only
    its end tells. The frames' times are the program's claims: they can only spare it.
    """
    return round_.watched.cpu_s - sum(max(frame.cpu_s, 0.0) for frame in round_.frames)


def _not_loaded(round_: Round, limits: Limits) -> Reading:
    cause = round_.watched.cause
    if round_.malformed:
        return Reading(Load.CRASH, FORGED)
    if cause is Cause.SLEPT:
        return Reading(Load.TIMEOUT, slept_message(limits), slept=True)
    if cause is Cause.TOTAL:
        return Reading(Load.TIMEOUT, f"used up its {limits.program_cpu_s:g} s of CPU time")
    kind, message = _how_it_ended(round_.watched, limits, limits.load_cpu_s)
    return Reading(Load(kind.value), message)


def _how_it_ended(watched: Watched, limits: Limits, budget_s: float) -> tuple[Kind, str]:
    if watched.cause is Cause.CPU:
        return Kind.TIMEOUT, f"used up its {budget_s:g} s of CPU time"
    end = watched.ended.get(PROGRAM)
    checker = watched.ended.get(CHECKER)
    if checker is not None and checker.status != 0:
        return Kind.CRASH, f"the check broke on the program's values: {_manner(checker)}"
    if end is None:
        return Kind.HARNESS, "the end of the process was not seen"
    return _of_status(end, limits)


def _of_status(end: Ended, limits: Limits) -> tuple[Kind, str]:
    number = end.status & 0x7F
    if number in (signal.SIGXCPU, signal.SIGKILL) and end.cpu_s >= limits.cpu_s:
        return Kind.TIMEOUT, f"used {end.cpu_s:.1f} s of CPU time"
    if number == signal.SIGKILL and end.peak_mb >= limits.memory_mb / 2:
        return Kind.MEMORY, f"killed with {end.peak_mb:.0f} MiB in use"
    return Kind.CRASH, _manner(end)


def _manner(end: Ended) -> str:
    number = end.status & 0x7F
    if number == 0:
        return f"ended the process with exit status {end.status >> 8}"
    try:
        return f"killed by {signal.Signals(number).name}"
    except ValueError:
        return f"killed by signal {number}"


def _of_frame(call: Call, index: int, frame: Frame, limits: Limits) -> Outcome | None:
    """The outcome that a frame states; None when our child would not have written it."""
    kind = _KINDS.get(frame.code)
    if kind is None or frame.test != index or call.check is not None:
        return None
    return state(call, kind, frame.body, frame.cpu_s, limits)


def state(call: Call, kind: Kind, body: str, cpu_s: float, limits: Limits) -> Outcome | None:
    """An outcome from its kind and text; None when the text cannot be one of this kind."""
    cpu_s = cpu_s if 0 <= cpu_s < 1e6 else 0.0
    if kind in (Kind.VALUE, Kind.ERROR):
        if len(body) > limits.encoding_bytes + 100:
            return None
        try:
            loads(body)
            message = exception_message(body) if kind is Kind.ERROR else ""
        except ValueError:
            return None
        return Outcome(call.test_id, kind, body, message, cpu_s)
    if kind is Kind.HARNESS:
        return Outcome(call.test_id, kind, message=f"no arguments: {body[:500]}", cpu_s=cpu_s)
    message = "out of memory" if kind is Kind.MEMORY else body[:500]
    return Outcome(call.test_id, kind, message=message, cpu_s=cpu_s)


def _of_check(call: Call, frame: Frame) -> Outcome:
    """The outcome of a check, from the checker's frame, which the program cannot write."""
    code, values, payload = json.loads(frame.body)
    kind = _KINDS[code]
    held = frame.code == Code.HELD
    if kind in (Kind.VALUE, Kind.ERROR):
        message = exception_message(payload) if payload else ""
        encoded = payload if kind is Kind.ERROR else values
        return Outcome(call.test_id, kind, encoded, message, frame.cpu_s, held)
    message = "out of memory" if kind is Kind.MEMORY else payload[:500]
    return Outcome(call.test_id, kind, message=message, cpu_s=frame.cpu_s, held=held)


def exception_message(text: str) -> str:
    """``Class: message`` of an encoded exception.

    Raises:
        ValueError: The text is no encoded exception.
    """
    parts = loads(text)
    if not (isinstance(parts, list) and len(parts) == 3 and all(type(p) is str for p in parts)):
        raise ValueError("not an exception")
    name, _, message = parts
    return f"{name}: {message}" if message else name


def slept_message(limits: Limits) -> str:
    """What a sleeper's outcome says."""
    return f"slept through its {limits.wall_s:g} s twice"


def not_run(call: Call, why: str) -> Outcome:
    """The outcome of a call that was not made."""
    return Outcome(call.test_id, Kind.SKIPPED, message=why)


def timed_out(call: Call, limits: Limits) -> Outcome:
    """The outcome of a sleeper."""
    return Outcome(call.test_id, Kind.TIMEOUT, message=slept_message(limits))
