"""The sandbox of one process: a proven zygote, restarted when it dies."""

import platform
from types import TracebackType
from typing import Self

from conf import SandboxConfig
from sandbox import proof
from sandbox.inside.wire import Plan
from sandbox.levels import LAYERS, Level, LevelUnavailable, candidates, check_platform
from sandbox.process import StartFailed, ZygoteLost, ZygoteProcess, package_folders
from sandbox.proof import Isolation
from sandbox.seccomp import Filters, build_filters
from sandbox.session import Areas, Session, harness_result
from sandbox.types import Call, Job, Kind, Outcome, ProgramResult

_OTHER_HASH_SEED = 4242


class Sandbox:
    """Runs untrusted programs, one at a time; owned by one process, not thread-safe.

    Args:
        config: The configuration, or just a level's name (``auto`` takes the best).
        hash_seed: ``PYTHONHASHSEED`` of the programs.

    Raises:
        UserError: The host cannot give the level; names the missing layer and the remedy.
    """

    def __init__(self, config: SandboxConfig | str = "auto", *, hash_seed: int = 0) -> None:
        asked = config if isinstance(config, str) else config.isolation
        self._hash_seed = hash_seed
        self._twin: Sandbox | None = None
        self._areas = Areas()
        self._level, self._zygote, self.isolation = _start_best(asked, hash_seed)
        self.level = self._level.value
        """The level that was reached and proved."""

    @property
    def zygote_pid(self) -> int:
        """Process id of the zygote; of its outer half, where it has a namespace of its own."""
        return self._zygote.pid

    def run(self, job: Job) -> ProgramResult:
        """Run one program on its calls.

        A zygote that dies is replaced and the job is run once more, alone; when that one dies too,
        every outcome is ``harness``.
        """
        for _ in range(2):
            try:
                return Session(self._zygote, self._areas, job, self.level).run()
            except ZygoteLost as error:
                reason = str(error)
                self._restart()
        return harness_result(job, self.level, f"the judge's own process died twice: {reason}")

    def evaluate(self, expression: str) -> str:
        """The canonical encoding of an expression's value, evaluated as a program would be.

        Raises:
            ValueError: It has no value, or none that can be encoded.
        """
        call = Call("expression", args=expression)
        outcome = self.run(Job("evaluate", "def same(value): return value", "same", (call,)))
        (result,) = outcome.outcomes
        if result.kind is not Kind.VALUE or result.encoding is None:
            raise ValueError(f"{expression[:80]!r} has no value: {result.kind}: {result.message}")
        return result.encoding

    def is_nondeterministic(self, job: Job) -> bool:
        """Whether the outcomes differ between two zygotes with different seeds."""
        if self._twin is None:
            self._twin = Sandbox(self.level, hash_seed=self._hash_seed + _OTHER_HASH_SEED)
        other = Job(job.job_id, job.program, job.entry_point, job.calls, job.limits, job.seed + 1)
        return differ(self.run(job), self._twin.run(other))

    def close(self) -> None:
        """End the zygote and everything under it."""
        self._zygote.close()
        self._areas.close()
        if self._twin is not None:
            self._twin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _restart(self) -> None:
        self._zygote.close()
        self._zygote = _start(self._level, self._hash_seed)[0]


def differ(one: ProgramResult, other: ProgramResult) -> bool:
    """Whether two results of one program contradict each other, as far as both ran."""
    if Kind.HARNESS in (one.load.value, other.load.value):
        return False
    if one.load is not other.load:
        return True
    return any(_differ(a, b) for a, b in zip(one.outcomes, other.outcomes, strict=True))


def _differ(one: Outcome, other: Outcome) -> bool:
    if {one.kind, other.kind} & {Kind.HARNESS, Kind.SKIPPED}:
        return False
    return (one.kind, one.encoding, one.held) != (other.kind, other.encoding, other.held)


def _start_best(asked: str, hash_seed: int) -> tuple[Level, ZygoteProcess, Isolation]:
    """Start at the best level asked for that the host gives, and prove it."""
    levels = candidates(asked)
    for level in levels:
        try:
            zygote, filters = _start(level, hash_seed)
        except LevelUnavailable:
            if level is levels[-1]:
                raise
            continue
        try:
            return level, zygote, _prove(zygote, level, filters)
        except LevelUnavailable:
            zygote.close()
            if level is levels[-1]:
                raise
    raise AssertionError("there is a level to try")


def _start(level: Level, hash_seed: int) -> tuple[ZygoteProcess, Filters | None]:
    check_platform(level)
    filters = None
    if "seccomp" in LAYERS[level]:
        filters = build_filters(platform.machine(), may_open="landlock" in LAYERS[level])
    plan = Plan(
        layers=LAYERS[level],
        zygote_filter=filters.zygote if filters else b"",
        child_filter=filters.child if filters else b"",
        own_pid_at=filters.own_pid_at if filters else 0,
        package_folders=package_folders(),
        wide=level is Level.STANDARD_NOFS,
    )
    try:
        return ZygoteProcess(plan, hash_seed), filters
    except StartFailed as error:
        raise LevelUnavailable(level, error.layer, error.reason) from error


def _prove(zygote: ZygoteProcess, level: Level, filters: Filters | None) -> Isolation:
    try:
        acts = proof.prove(zygote, level)
    except ZygoteLost as error:
        raise LevelUnavailable(level, "proof", str(error)) from error
    broken = [act for act in acts if not act.holds]
    if broken:
        said = "; ".join(f"{act.name}: {act.happened} ({act.detail})" for act in broken)
        raise LevelUnavailable(level, "proof", said)
    report = zygote.report
    return Isolation(
        level=level,
        layers=tuple(report["layers"]),
        landlock_abi=report.get("landlock") or 0,
        filter_sha256=filters.digest if filters else "",
        namespaces=report.get("namespaces") or {},
        python=report["python"],
        preloaded=report["preloaded"],
        acts=acts,
    )
