"""One job on one zygote: rounds of fork, watch and read, until every call has an outcome."""

import os
import socket

from sandbox import memory
from sandbox.inside import job
from sandbox.inside.frames import Code, Frame, Malformed
from sandbox.inside.job import Task
from sandbox.inside.wire import CHECKER, PROGRAM
from sandbox.interpret import Reading, Round, not_run, read_round, timed_out
from sandbox.memory import AREA_BYTES, Area
from sandbox.process import Child, ZygoteProcess
from sandbox.types import Job, Kind, Load, Outcome, ProgramResult
from sandbox.watch import Progress, watch

JOB_BYTES = 64 * 2**20
"""Largest sum of one job's encodings; calls after it are skipped."""

_KIND_OF_LOAD = {
    Load.ERROR: Kind.ERROR,
    Load.TIMEOUT: Kind.TIMEOUT,
    Load.MEMORY: Kind.MEMORY,
    Load.CRASH: Kind.CRASH,
}


class Session:
    """Runs one job; used once."""

    def __init__(self, zygote: ZygoteProcess, areas: "Areas", job_: Job, isolation: str) -> None:
        self._zygote = zygote
        self._areas = areas
        self._job = job_
        self._isolation = isolation
        self._area_bytes = max(AREA_BYTES, 2 * job_.limits.encoding_bytes)
        self._outcomes: list[Outcome] = []
        self._cpu_s = 0.0
        self._allowance_s = job_.limits.load_cpu_s + job_.limits.program_cpu_s
        self._room = JOB_BYTES
        self._slept_at = -1
        self._is_sleeper = False

    def run(self) -> ProgramResult:
        """Run the job to its end.

        Raises:
            ZygoteLost: The zygote died on the way.
        """
        if not self._job.program.strip():
            return self._not_loaded(Load.NO_CODE, "there is no program")
        loaded = False
        while not loaded or len(self._outcomes) < len(self._job.calls):
            reading = self._round()
            self._outcomes += reading.outcomes
            if reading.slept and self._may_sleep_again():
                continue
            if reading.load is not Load.OK:
                if not loaded:
                    return self._not_loaded(reading.load, reading.message)
                self._not_loaded_again(reading)
            loaded = True
            if reading.slept and len(self._outcomes) < len(self._job.calls):
                call = self._job.calls[len(self._outcomes)]
                self._outcomes.append(timed_out(call, self._job.limits))
            self._stop_at_limits(reading)
        return self._result(Load.OK, "")

    def _round(self) -> Reading:
        first = len(self._outcomes)
        children: list[Child] = []
        areas: list[Area] = []
        try:
            round_ = self._play(first, children, areas)
        finally:
            for child in children:
                child.forget()
            for area in areas:
                area.clear()
        self._cpu_s += round_.watched.cpu_s
        self._allowance_s -= round_.watched.cpu_s
        self._room -= sum(len(frame.body) for frame in round_.frames)
        pending = list(enumerate(self._job.calls))[first:]
        return read_round(round_, pending, self._job.limits)

    def _play(self, first: int, children: list[Child], areas: list[Area]) -> Round:
        """Fork the program, and a checker if a pending call needs one, and watch them.

        What has been forked, and what is written in, is added to the lists.
        """
        calls = self._job.calls[first:]
        roles = [PROGRAM]
        channels: list[list[int]] = [[], []]
        if any(call.check is not None for call in calls):
            roles.append(CHECKER)
            channels = _channel()
        readers = [_Reader(self._area(role), len(calls) + 2) for role in roles]
        for role, reader, channel in zip(roles, readers, channels, strict=False):
            areas.append(reader.area)
            children.append(self._fork(role, reader.area, channel, first))
        limits = self._job.limits
        watched = watch(self._zygote, children, readers[0].look, limits, self._allowance_s)
        for reader in readers:
            reader.look()
        answers = [frame for reader in readers[1:] for frame in reader.frames]
        return Round(readers[0].frames, answers, readers[0].malformed, watched)

    def _area(self, role: int) -> Area:
        """A program's is at the zygote's desk, if it is large enough there."""
        desk = self._zygote.desk
        if role == PROGRAM and self._area_bytes <= len(desk.area):
            return desk.area
        return self._areas.get(role, self._area_bytes)

    def _fork(self, role: int, area: Area, channel: list[int], first: int) -> Child:
        task = job.dump(self._task(role, first))
        desk = self._zygote.desk
        mine = [*channel]
        try:
            if area is desk.area and desk.put(task):
                return self._zygote.fork(role, 0, channel, self._allowed(0))
            mine.append(memory.sealed(task))
            fds = [mine[-1], area.fd, *channel]
            return self._zygote.fork(role, len(task), fds, self._allowed(len(area)))
        finally:
            for fd in mine:
                os.close(fd)

    def _allowed(self, area_bytes: int) -> tuple[int, int]:
        limits = self._job.limits
        cpu_s = int(limits.load_cpu_s + limits.program_cpu_s) + 1
        return cpu_s, limits.memory_mb * 2**20 + area_bytes

    def _task(self, role: int, first: int) -> Task:
        """What the child of a role is told: a program never sees a check."""
        limits = self._job.limits
        calls = list(enumerate(self._job.calls))[first:]
        given: list[tuple[int, str | bytes | None]]
        if role == CHECKER:
            given = [(i, call.check) for i, call in calls if call.check is not None]
        else:
            given = [
                (i, None if call.args is None else job.arguments(call.args)) for i, call in calls
            ]
        return Task(
            program=self._job.program if role == PROGRAM else "",
            entry_point=self._job.entry_point,
            calls=tuple(given),
            seed=self._job.seed,
            output_bytes=limits.output_bytes,
            encoding_bytes=limits.encoding_bytes,
        )

    def _may_sleep_again(self) -> bool:
        """A call that sleeps gets a second try, unless the program is known to sleep.

        Each sleep is charged like a CPU time-out, so that a program of many sleeping calls ends.
        """
        self._allowance_s -= self._job.limits.cpu_s
        if self._is_sleeper or self._slept_at == len(self._outcomes):
            self._is_sleeper = True
            return False
        self._slept_at = len(self._outcomes)
        return True

    def _stop_at_limits(self, reading: Reading) -> None:
        if reading.spent or self._allowance_s <= 0:
            self._skip_rest(f"the program used up its {self._job.limits.program_cpu_s:g} s")
        elif self._room <= 0:
            self._skip_rest("the program's values are too large together")

    def _not_loaded_again(self, reading: Reading) -> None:
        if not reading.spent and len(self._outcomes) < len(self._job.calls):
            call = self._job.calls[len(self._outcomes)]
            kind = _KIND_OF_LOAD.get(reading.load, Kind.CRASH)
            message = f"when loaded again: {reading.message}"
            self._outcomes.append(Outcome(call.test_id, kind, message=message))
        self._skip_rest("the program did not load again")

    def _skip_rest(self, why: str) -> None:
        rest = self._job.calls[len(self._outcomes) :]
        self._outcomes += [not_run(call, why) for call in rest]

    def _not_loaded(self, load: Load, message: str) -> ProgramResult:
        self._skip_rest("the program did not load")
        return self._result(load, message)

    def _result(self, load: Load, message: str) -> ProgramResult:
        return ProgramResult(
            job_id=self._job.job_id,
            load=load,
            outcomes=tuple(self._outcomes),
            message=message,
            isolation=self._isolation,
            cpu_s=self._cpu_s,
        )


def harness_result(job_: Job, isolation: str, why: str) -> ProgramResult:
    """The result of a job that the judge failed to run."""
    outcomes = tuple(Outcome(call.test_id, Kind.HARNESS, message=why) for call in job_.calls)
    return ProgramResult(job_.job_id, Load.HARNESS, outcomes, why, isolation)


class Areas:
    """The result areas of one sandbox, one a role, made when first needed."""

    def __init__(self) -> None:
        self._areas: dict[int, Area] = {}

    def get(self, role: int, size: int) -> Area:
        """The role's area, at least so large."""
        area = self._areas.get(role)
        if area is not None and len(area) < size:
            area.close()
            area = None
        if area is None:
            area = self._areas[role] = Area(size)
        return area

    def close(self) -> None:
        """Give the memory back."""
        for area in self._areas.values():
            area.close()
        self._areas.clear()


class _Reader:
    """Reads the frames of one result area, a few at a time."""

    def __init__(self, area: Area, most: int) -> None:
        self.area = area
        self.frames: list[Frame] = []
        self.malformed = False
        self._most = most
        self._at = 0

    def look(self) -> Progress:
        """Read on; nothing more is read after a malformed or a last frame."""
        if not self._finished():
            try:
                new, self._at = self.area.read(self._at, self._most - len(self.frames))
            except Malformed:
                self.malformed = True
            else:
                self.frames += new
        return Progress(len(self.frames), self._finished())

    def _finished(self) -> bool:
        last = self.frames[-1].code if self.frames else None
        return self.malformed or last in (Code.END, Code.FULL)


def _channel() -> list[list[int]]:
    """Two ends of a stream between a program and its checker."""
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    return [[one.detach()], [other.detach()]]
