"""The engines of a sweep: each is started once and answers all points that need it."""

from collections.abc import Sequence
from pathlib import Path

from conf import UserError
from pipeline.cluster import outlives_driver
from pipeline.sweep.points import Engine
from serve import ClientSpec, EngineHandle, leave_engine, start_engine


class Engines:
    """Engines that run for the sweep.

    Args:
        logs: existing folder for what their replicas print.
    """

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._running: dict[str, EngineHandle] = {}

    def change_to(self, wanted: Sequence[Engine]) -> dict[str, str]:
        """Have these engines run, and no others.

        Returns:
            Why an engine could not be started, by its name.
        """
        names = {engine.name for engine in wanted}
        for name in [name for name in self._running if name not in names]:
            self._stop(name)
        failures = {}
        for engine in wanted:
            if engine.name not in self._running:
                try:
                    joined = outlives_driver(engine.config.cluster)
                    self._running[engine.name] = start_engine(
                        engine.config, self._logs, joined=joined
                    )
                except UserError as error:
                    failures[engine.name] = str(error)
        return failures

    def spec_of(self, name: str) -> ClientSpec:
        """Return how to reach an engine that runs."""
        return self._running[name].spec

    def close(self) -> None:
        """Need none of them any more."""
        for name in list(self._running):
            self._stop(name)

    def _stop(self, name: str) -> None:
        leave_engine(self._running.pop(name))
