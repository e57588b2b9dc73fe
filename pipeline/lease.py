"""Who works in a run folder at an address: one process at a time, on whatever machine.

Such a place has no locks. The process that works there keeps a small file that changes every few
seconds. Whoever finds one watches it: a file that changes has a living owner, one that stands still
has lost it. On the same machine the owner's process is looked up instead. Two processes may still
take a lease in the same instant; the one whose file was overwritten finds that out at its next beat
and stops (``pipeline/mirror.py``). What they wrote meanwhile is in segments of their own.
"""

import json
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline.address import Address

LEASE = "lease.json"
BEAT_S = 5.0
PATIENCE_S = 4 * BEAT_S
"""How long a file must stand still before its owner counts as gone."""
POLL_S = 0.5


class Lease:
    """The right to work in one run folder.

    Args:
        address: of the run folder.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._holder = secrets.token_hex(8)
        self._beats = 0

    @classmethod
    def take(
        cls,
        address: Address,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> "Lease | None":
        """Return the lease of a folder; null if a living process has it.

        Raises:
            UserError: the address cannot be reached.
        """
        found = address.read(LEASE)
        deadline = clock() + PATIENCE_S
        while found is not None and not _is_of_dead(found) and clock() < deadline:
            sleep(POLL_S)
            now = address.read(LEASE)
            if now not in (found, None):
                return None
            found = now
        lease = cls(address)
        lease._write()
        return lease

    def beat(self) -> bool:
        """Show that the owner lives; return whether it still is the owner."""
        found = self._address.read(LEASE)
        if found is not None and json.loads(found)["holder"] != self._holder:
            return False
        self._write()
        return True

    def release(self) -> None:
        """Let the next one have it, if it is still ours."""
        found = self._address.read(LEASE)
        if found is not None and json.loads(found)["holder"] == self._holder:
            self._address.remove(LEASE)

    def _write(self) -> None:
        self._beats += 1
        content = {
            "holder": self._holder,
            "host": os.uname().nodename,
            "beats": self._beats,
            "process": _this_process(),
        }
        self._address.write(LEASE, json.dumps(content).encode())


def _this_process() -> dict[str, Any] | None:
    """Return what tells this process from all others; null where the system does not say."""
    return _process(os.getpid())


def _process(pid: int) -> dict[str, Any] | None:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        # Containers share a boot, but neither their process ids nor their host's name.
        space = str(Path("/proc/self/ns/pid").readlink())
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    started = None if fields[0] == "Z" else fields[19]
    return {"machine": [boot, space], "pid": pid, "started": started}


def _is_of_dead(content: bytes) -> bool:
    """Tell whether a lease's owner was a process of this machine that has ended."""
    owner, ours = json.loads(content)["process"], _this_process()
    if owner is None or ours is None or owner["machine"] != ours["machine"]:
        return False
    return bool(_process(owner["pid"]) != owner)
