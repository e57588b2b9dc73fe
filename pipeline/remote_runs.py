"""Which run folder at an address a command works in; for local ones see ``resuming.py``."""

import json
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from conf import RunConfig, UserError
from pipeline.address import Address
from pipeline.compose import same_run, to_plain
from pipeline.lease import Lease
from pipeline.mirror import Mirror
from pipeline.runfolder import BEGINNING, JOURNAL, RunFolder
from pipeline.status import FINISHED, STATUS

PREFIX = "holdtrue-run-"
Folder = TypeVar("Folder", bound=RunFolder)


@contextmanager
def remote_folder(
    config: RunConfig, inputs: dict[str, Any], kind: type[Folder]
) -> Iterator[tuple[Folder, bool]]:
    """Yield the folder to work in, leased, and whether the run goes on in it.

    Args:
        config: the run; its ``resume`` or ``runs_dir`` is an address.
        inputs: what else makes it this run.
        kind: of the folder; each command has its own.

    Raises:
        UserError: the address cannot be reached or written, or another process works there.
    """
    with tempfile.TemporaryDirectory(prefix=PREFIX) as scratch:
        found = _named(config.resume) if config.resume else _find_unfinished(config, inputs)
        if found:
            path = Path(scratch) / found[0].name
        else:
            path = kind.create(Path(scratch), f"{config.name}-{secrets.token_hex(3)}").path
        address = found[0] if found else Address(config.runs_dir) / path.name
        lease = found[1] if found else _take(address)
        mirror = Mirror(path, address, lease, published=frozenset((*kind.tables, JOURNAL)))
        with mirror.following(restores=found is not None):
            folder = _reopened(kind, path, mirror) if found else kind(path, mirror)
            if not found:
                folder.write_json(BEGINNING, {"config": to_plain(config), "inputs": inputs})
            yield folder, found is not None


def _reopened(kind: type[Folder], path: Path, mirror: Mirror) -> Folder:
    for table in (*kind.tables, JOURNAL):
        # A store of objects keeps no empty folders.
        (path / table).mkdir(parents=True, exist_ok=True)
    return kind.reopen(path, mirror)


def _named(resume: str) -> tuple[Address, Lease]:
    return Address(resume), _take(Address(resume))


def _take(address: Address) -> Lease:
    lease = Lease.take(address)
    if lease is None:
        raise UserError(f"resume={address}: another process is making this run")
    return lease


def _find_unfinished(config: RunConfig, inputs: dict[str, Any]) -> tuple[Address, Lease] | None:
    """Return the newest unfinished run of the same kind that no process is making."""
    if config.fresh:
        return None
    runs = Address(config.runs_dir)
    for name in reversed(runs.folders()):
        address = runs / name
        if _is_the_same(address, config, inputs) and (lease := Lease.take(address)):
            return address, lease
    return None


def _is_the_same(address: Address, config: RunConfig, inputs: dict[str, Any]) -> bool:
    beginning = address.read(BEGINNING)
    if beginning is None:
        return False
    recorded = json.loads(beginning)
    if recorded["inputs"] != inputs or not same_run(recorded["config"], config):
        return False
    status = address.read(STATUS)
    return status is None or json.loads(status)["state"] != FINISHED
