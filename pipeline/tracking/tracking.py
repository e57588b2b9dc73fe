"""What a run tells of itself: always to lines in its folder, to a service if it is asked to.

``metrics.jsonl`` has figures by time, the last lines the scores; ``events.jsonl`` says what
happened. The folder stays the truth: a service that fails is left out from then on, with one line
of warning, and the run does not notice.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from conf import RunConfig
from pipeline.tracking.figures import score_figures
from pipeline.tracking.lines import Lines
from pipeline.tracking.service import Service

METRICS, EVENTS = "metrics.jsonl", "events.jsonl"
_COUNTED = ("chains", "problems")


@dataclass(frozen=True)
class Result:
    """What a run came to."""

    metrics: Mapping[str, Any]
    """The content of ``metrics.json``."""
    broken: pl.DataFrame | None = None
    """Where chains broke, schema ``analysis.broken.BROKEN``; null where there are no chains."""


class Tracking:
    """Takes what a run tells; may be called from any thread.

    Args:
        folder: of the run; it must exist.
        service: where else figures go; null: nowhere.
        every_s: pause between two lines of live figures, in seconds.
        clock: in seconds.
    """

    def __init__(
        self,
        folder: Path,
        service: Service | None = None,
        *,
        every_s: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._metrics = Lines(folder / METRICS)
        self._events = Lines(folder / EVENTS)
        self._service = service
        self._every_s = every_s
        self._clock = clock
        self._started = clock()
        self._told_at = float("-inf")
        self._guard = threading.Lock()
        self._begun = False

    def event(self, kind: str, **facts: Any) -> None:
        """Write down that something happened."""
        with self._guard:
            self._events.append({"event": kind, **facts})

    def begin(self, manifest: Mapping[str, Any]) -> None:
        """Tell the service what the run is made of; once a start, later calls do nothing."""
        if not self._begun and self._service:
            self._service.begin(manifest)
        self._begun = True

    def live(self, figures: Mapping[str, float], last: bool = False) -> None:
        """Tell where the run stands; most calls are too early and do nothing.

        Args:
            figures: by name.
            last: whether to tell them in any case.
        """
        with self._guard:
            now = self._clock()
            if not last and now - self._told_at < self._every_s:
                return
            self._told_at = now
            self._tell({"elapsed_s": round(now - self._started, 3), **figures})

    def scored(self, manifest: Mapping[str, Any], result: Result) -> None:
        """Tell the scores, with their intervals, and where chains broke."""
        self.begin(manifest)
        figures = score_figures(result.metrics)
        with self._guard:
            self._metrics.append({f"scores/{name}": value for name, value in figures.items()})
            counted = {key: result.metrics[key] for key in _COUNTED if key in result.metrics}
            self._events.append({"event": "scored", **counted})
        if self._service:
            self._service.finish(result.metrics, result.broken)

    def close(self) -> None:
        """Let the service go."""
        if self._service:
            self._service.close()

    def _tell(self, figures: Mapping[str, float]) -> None:
        number = self._metrics.append(figures)
        if self._service and self._begun:
            self._service.live(number, figures)


@contextmanager
def tracked(config: RunConfig, folder: Path, console: Console) -> Iterator[Tracking]:
    """Track one start of a run; how it ends becomes an event, whatever that is.

    Raises:
        UserError: the service that is asked for is not installed.
    """
    service = _open_service(config, folder, console)
    tracking = Tracking(folder, service, every_s=config.tracking.every_s)
    tracking.event("started")
    try:
        yield tracking
    except BaseException as error:
        tracking.event("stopped", reason=type(error).__name__, message=str(error)[:500])
        raise
    else:
        tracking.event("ended")
    finally:
        tracking.close()


def _open_service(config: RunConfig, folder: Path, console: Console) -> Service | None:
    if config.tracking.backend != "wandb":
        return None
    from pipeline.tracking.wandb_run import WandbRun

    run = WandbRun(config.tracking, folder)
    return Service(run, config.tracking.timeout_s, lambda line: console.print(line, markup=False))
