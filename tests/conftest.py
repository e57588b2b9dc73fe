"""The one Ray cluster that tests share, and what a test run prints."""

import logging
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from object_store import CREDENTIALS, object_store

# A deadline for one example is a timed assertion, which a busy machine fails.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

CPUS = 2
OBJECT_STORE_BYTES = 150 * 2**20
STARTS = 2
SAID_CHARS = 600


class FailuresAtOnce:
    """Says why a test failed when it does: a run that is cut off never gets to its summary."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self._terminal = terminal

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            said = (crash.message if crash else str(report.longrepr))[:SAID_CHARS]
            self._terminal.write_line(f"\n{report.nodeid}, {report.when}: {said}")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None:
        config.pluginmanager.register(FailuresAtOnce(terminal))


@pytest.fixture(scope="session")
def ray_session() -> Iterator[None]:
    """A private local cluster with two CPUs, started when the first test asks for it."""
    import ray

    # Ray puts Unix sockets below this folder, and their paths may not be long.
    folder = Path(tempfile.mkdtemp(prefix="ht", dir="/tmp"))
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RAY_ADDRESS", raising=False)
        patch.setenv("RAY_SERVE_LOG_TO_STDERR", "0")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        for name, value in CREDENTIALS.items():  # the keeper writes to an object store
            patch.setenv(name, value)
        _start_ray(folder)
        try:
            yield
        finally:
            ray.shutdown(wait_for_processes=True)
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def store() -> Iterator[str]:
    """The query of every address on an S3 server; this process has credentials for it."""
    with pytest.MonkeyPatch.context() as patch, object_store() as query:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        yield query


@pytest.fixture(scope="module", autouse=True)
def no_engine_is_left() -> Iterator[None]:
    """Stop the engines that a killed driver left: they hold CPUs that the next module needs."""
    yield
    ray = sys.modules.get("ray")
    if ray is not None and ray.is_initialized():
        from ray import serve as ray_serve

        for app in ray_serve.status().applications:
            ray_serve.delete(app)


def _start_ray(folder: Path) -> None:
    """Start Ray; once more if the machine was too busy for its start-up deadline."""
    import ray

    for start in range(1, STARTS + 1):
        try:
            ray.init(
                address="local",
                num_cpus=CPUS,
                num_gpus=0,
                object_store_memory=OBJECT_STORE_BYTES,
                include_dashboard=False,
                logging_level=logging.ERROR,
                log_to_driver=False,
                _temp_dir=str(folder),
            )
        except Exception:
            ray.shutdown()
            if start == STARTS:
                raise
        else:
            return
