"""What a run's folder says of how the run stands: ``status.json``.

A process that is killed leaves ``running`` there; that nobody holds the folder's lock tells that it
is not. Whatever the state, only a ``finished`` run is not gone on with by the same command.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from conf import UserError
from pipeline.runfolder import RunFolder

STATUS = "status.json"
RUNNING, FINISHED = "running", "finished"
STOPPED, STALLED, INTERRUPTED, FAILED = "stopped", "stalled", "interrupted", "failed"
"""By its budget; because nothing moved; by the user; by any other error."""


@dataclass(frozen=True)
class Standstill:
    """Where everything was when nothing had moved for too long."""

    minutes: float
    """For how long: ``stall_minutes``."""
    open_rows: int
    """Chains or problems that have not come out of the last round."""
    stages: Mapping[str, Mapping[str, int]]
    """How many of them are in which stage, by round."""
    replicas: Mapping[str, Mapping[str, int]]
    """Replicas of each engine by their state; none where a journal answers."""

    def __str__(self) -> str:
        places = [f"{each}: {_counts(stages, ' in ')}" for each, stages in self.stages.items()]
        engines = [f"{name} replicas: {_counts(n, ' ')}" for name, n in self.replicas.items()]
        return (
            f"no row finished a round for stall_minutes={self.minutes:g} while {self.open_rows} "
            f"were open ({'; '.join([*(places or ['no row is in any stage']), *engines])}); "
            f"the same command goes on"
        )


class StandstillError(UserError):
    """Stops a run in which nothing moves any more."""

    def __init__(self, standstill: Standstill) -> None:
        super().__init__(str(standstill))
        self.standstill = standstill


@contextmanager
def noting_status(folder: RunFolder) -> Iterator[None]:
    """Note in the folder that its run is under way, and why it ended if it ends by an error."""
    if not is_finished(folder):
        _write(folder, RUNNING)
    try:
        yield
    except KeyboardInterrupt:
        _note_error(folder, INTERRUPTED, "interrupted")
        raise
    except StandstillError as error:
        _note_error(folder, STALLED, str(error), standstill=asdict(error.standstill))
        raise
    except Exception as error:
        _note_error(folder, FAILED, str(error) or repr(error))
        raise


def note_end(folder: RunFolder, stopped: str | None) -> None:
    """Note that a run has come to its end, or why its budget stopped it."""
    _write(folder, STOPPED if stopped else FINISHED, stopped)


def is_finished(folder: RunFolder) -> bool:
    """Tell whether a run came to its end."""
    return folder.has(STATUS) and folder.read_json(STATUS)["state"] == FINISHED


def _note_error(folder: RunFolder, state: str, reason: str, **more: Any) -> None:
    # On a full disk that very error is on its way to the user, and must not be replaced.
    with suppress(UserError):
        _write(folder, state, reason, **more)


def _write(folder: RunFolder, state: str, reason: str | None = None, **more: Any) -> None:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    folder.write_json(STATUS, {"state": state, "since": now, "reason": reason, **more})


def _counts(counts: Mapping[str, int], between: str) -> str:
    return ", ".join(f"{n}{between}{what}" for what, n in counts.items()) or "none"
