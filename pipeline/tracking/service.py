"""Keeps a run safe from the service that tracks it.

Calls are made by a thread of their own, in order. The run waits for the first and the last, for a
bounded time, and for none between. The first call that fails is the last one that is made.
"""

import queue
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import polars as pl


class Remote(Protocol):
    """A service's client. It may block and it may raise."""

    name: str

    def begin(self, manifest: Mapping[str, Any]) -> str | None:
        """Open the run there; return a line for the user, if there is something to say."""

    def live(self, number: int, figures: Mapping[str, float]) -> None:
        """Send figures; numbers ascend over all starts of the run."""

    def finish(self, metrics: Mapping[str, Any], broken: pl.DataFrame | None) -> None:
        """Send the scores, the broken chains and the folder."""

    def close(self) -> None:
        """Leave; also without ``finish``."""


class Service:
    """Calls a ``Remote``; never raises.

    Args:
        remote: whom to call.
        timeout_s: longest wait for it, in seconds.
        say: shows the user one line.
    """

    def __init__(self, remote: Remote, timeout_s: float, say: Callable[[str], None]) -> None:
        self._remote = remote
        self._timeout_s = timeout_s
        self._say = say
        self._calls: queue.SimpleQueue[tuple[Callable[[], Any], threading.Event]] = (
            queue.SimpleQueue()
        )
        self._lost = False
        self._worker: threading.Thread | None = None

    def begin(self, manifest: Mapping[str, Any]) -> None:
        """Open the run at the service."""

        def call() -> None:
            if line := self._remote.begin(manifest):
                self._say(line)

        self._wait(call)

    def live(self, number: int, figures: Mapping[str, float]) -> None:
        """Send figures some time."""
        self._submit(lambda: self._remote.live(number, figures))

    def finish(self, metrics: Mapping[str, Any], broken: pl.DataFrame | None) -> None:
        """Send what the run came to."""
        self._wait(lambda: self._remote.finish(metrics, broken))

    def close(self) -> None:
        """Leave the service."""
        if self._worker is not None:
            self._wait(self._remote.close)

    def _submit(self, call: Callable[[], Any]) -> threading.Event:
        done = threading.Event()
        if self._lost:
            done.set()
            return done
        if self._worker is None:
            # A daemon: a service that hangs must not keep the process from ending.
            self._worker = threading.Thread(target=self._work, name="tracking", daemon=True)
            self._worker.start()
        self._calls.put((call, done))
        return done

    def _wait(self, call: Callable[[], Any]) -> None:
        if not self._submit(call).wait(self._timeout_s):
            self._lose(f"no answer within tracking.timeout_s={self._timeout_s:g}")

    def _work(self) -> None:
        while True:
            call, done = self._calls.get()
            try:
                if not self._lost:
                    call()
            except Exception as error:
                traceback.print_exc()
                lines = str(error).strip().splitlines() or [""]
                self._lose(f"{type(error).__name__}: {lines[0]}")
            finally:
                done.set()

    def _lose(self, why: str) -> None:
        if not self._lost:
            self._lost = True
            self._say(
                f"warning: {self._remote.name} is left out from here on ({why}); "
                "the run goes on, and its folder has all figures"
            )
