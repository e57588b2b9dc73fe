"""What the points of a sweep share beside engines: the cluster, and the keeper of their journals.

The keeper hands out each request once: a point that needs what another has, or is fetching, gets
that answer and keeps a copy in its own journal.
"""

import secrets

import ray

from pipeline.desk import SHARED_KEEPER, KeeperHandle, start_keeper
from pipeline.keeper import JournalRun
from pipeline.runfolder import RunFolder


class SharedKeeper:
    """A keeper for all points; it ends with this process. Ray must be initialised."""

    def __init__(self) -> None:
        self._name = f"keeper-{secrets.token_hex(8)}"
        self._actor = start_keeper(self._name)

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which a point finds the cluster and the keeper."""
        address = ray.get_runtime_context().gcs_address
        return {"RAY_ADDRESS": address, SHARED_KEEPER: self._name}

    def forget(self, run: RunFolder) -> None:
        """Let others fetch what a point was fetching when its process ended."""
        KeeperHandle(self._actor, JournalRun(str(run.journal))).close()
