"""Runs that are only read: a folder of this machine as it is, one at an address as a copy.

A copy lies in a temporary folder that goes when the process does.
"""

import tempfile
from functools import cache
from pathlib import Path

from conf import UserError
from pipeline.address import Address, is_address, local_path
from pipeline.runfolder import JOURNAL

LEFT_THERE = (JOURNAL, "logs", "wandb", "orphans")
_copies: list["tempfile.TemporaryDirectory[str]"] = []


@cache
def fetch_run(place: str) -> Path:
    """Return a folder with the tables and JSON files of what lies at a place.

    Raises:
        UserError: the address cannot be reached, or there is nothing.
    """
    if not is_address(place):
        return local_path(place)
    address = Address(place)
    names = [name for name in address.files() if name.partition("/")[0] not in LEFT_THERE]
    if not names:
        raise UserError(f"{place}: there is nothing at this address")
    return _copy(address, names)


@cache
def fetch_journal(place: str) -> Path:
    """Return the journal of the run at a place: a folder, as an absolute path.

    Raises:
        UserError: the address cannot be reached.
    """
    if not is_address(place):
        return (local_path(place) / JOURNAL).resolve()
    journal = Address(place) / JOURNAL
    return _copy(journal, list(journal.files()))


def read_file(place: str, name: str) -> bytes | None:
    """Return a file of the run at a place; null if it has none of this name.

    Raises:
        UserError: the address cannot be reached.
    """
    if is_address(place):
        return Address(place).read(name)
    path = local_path(place) / name
    return path.read_bytes() if path.is_file() else None


def _copy(address: Address, names: list[str]) -> Path:
    kept = tempfile.TemporaryDirectory(prefix="holdtrue-copy-")
    _copies.append(kept)
    folder = Path(kept.name) / address.name
    folder.mkdir()
    address.download(names, folder)
    return folder
