"""What goes into a sandbox and what comes out. Plain values, picklable, no Ray."""

from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """What one test's execution came to, before anything is compared."""

    VALUE = "value"
    ERROR = "error"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    CRASH = "crash"
    OUTPUT = "output"
    UNENCODABLE = "unencodable"
    SKIPPED = "skipped"
    HARNESS = "harness"


class Load(StrEnum):
    """Whether a program could be loaded."""

    OK = "ok"
    NO_CODE = "no_code"
    SYNTAX = "syntax"
    ERROR = "error"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    CRASH = "crash"
    HARNESS = "harness"


@dataclass(frozen=True, slots=True)
class Limits:
    """Budgets of one program. CPU time decides; wall time is a backstop."""

    cpu_s: float = 3.0
    wall_s: float = 30.0
    load_cpu_s: float = 5.0
    program_cpu_s: float = 15.0
    memory_mb: int = 1024
    output_bytes: int = 256 * 1024
    encoding_bytes: int = 2 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Call:
    """One test, as far as the sandbox may know it: never an expected value.

    With ``args`` the entry point is called once, on the values of that Python source of an
    argument list (``"[1, 2], 3"``). With ``check`` that trusted source runs in a process of
    its own, where the entry point's name is a proxy to the program; its outputs are the values
    which the proxy returned, in order, and ``held`` says whether the source ran to its end.
    """

    test_id: str
    args: str | None = None
    check: str | None = None

    def __post_init__(self) -> None:
        if (self.args is None) == (self.check is None):
            raise ValueError(f"test {self.test_id!r} has either args or a check")


@dataclass(frozen=True, slots=True)
class Job:
    """One program and the calls to make of it."""

    job_id: str
    program: str
    entry_point: str
    calls: tuple[Call, ...]
    limits: Limits = field(default_factory=Limits)
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happened in one call."""

    test_id: str
    kind: Kind
    encoding: str | None = None
    """Canonical text of the returned value, or of the exception (kind ``error``)."""
    message: str = ""
    cpu_s: float = 0.0
    held: bool | None = None
    """Of a ``check`` call: did it run to its end without an exception?"""


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """What happened to one program: one outcome for each call, in order."""

    job_id: str
    load: Load
    outcomes: tuple[Outcome, ...]
    message: str = ""
    """Why it did not load."""
    isolation: str = ""
    """The level that held while it ran."""
    cpu_s: float = 0.0
    """CPU seconds of the program, and of what checked it."""
    whole_cpu_s: float | None = None
    """CPU seconds with those of the judge's own processes; null where nobody counts them."""
