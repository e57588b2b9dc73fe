"""Which folder a command works in: one it names, an unfinished one of the same run, or a new one.

A run is the same if its configuration, its weights and its problems are. One process at a time
works in a folder; its lock is gone when the process is, however that ends.
"""

import fcntl
import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

from conf import RunConfig, UserError
from pipeline.address import is_address, local_path
from pipeline.compose import check_resumable, same_run, to_plain
from pipeline.fetching import read_file
from pipeline.remote_runs import remote_folder
from pipeline.runfolder import BEGINNING, RunFolder
from pipeline.status import is_finished

Inputs = dict[str, Any]
"""Identities of the models and digest of the problems."""

Folder = TypeVar("Folder", bound=RunFolder)


def resumed_config(asked: RunConfig, overrides: Sequence[str]) -> RunConfig:
    """Return the configuration of the run that ``resume=`` names.

    Raises:
        UserError: there is no run, or this command line asks for another one.
    """
    recorded = read_beginning(asked.resume or "", "resume")["config"]
    return check_resumable(recorded, asked, overrides)


def resume_word(place: str) -> str:
    """Return the word by which a shell goes on with the run at a place."""
    return shlex.quote(f"resume={place}")


def read_beginning(place: str, key: str) -> Any:
    """Return what a run was made of: ``config`` and ``inputs``.

    Args:
        place: the run's folder or address.
        key: which key of the command line names it.
    """
    content = read_file(place, BEGINNING)
    if content is None:
        raise UserError(f"{key}={place}: no run there (no {BEGINNING}); give a folder under runs/")
    return json.loads(content)


def run_folder(config: RunConfig, inputs: Inputs) -> AbstractContextManager[tuple[RunFolder, bool]]:
    """Return ``folder_of_kind`` for the chain job."""
    return folder_of_kind(config, inputs, RunFolder)


@contextmanager
def folder_of_kind(
    config: RunConfig, inputs: Inputs, kind: type[Folder]
) -> Iterator[tuple[Folder, bool]]:
    """Yield the folder to work in, locked, and whether the run goes on in it.

    Args:
        config: the run; with ``resume``, as ``resumed_config`` returned it.
        inputs: what else makes it this run.
        kind: of the folder; each command has its own.

    Raises:
        UserError: another process works in the folder, it has other inputs, or a new one cannot
            be made.
    """
    if config.resume:
        _refuse_other_inputs(config.resume, inputs)
    if is_address(config.resume or config.runs_dir):
        with remote_folder(config, inputs, kind) as (folder, goes_on):
            yield folder, goes_on
        return
    if config.resume:
        found = _lock(local_path(config.resume))
        if found is None:
            raise UserError(f"resume={config.resume}: another process is making this run")
    else:
        found = None if config.fresh else _find_unfinished(config, inputs)
    folder = kind(found[0].path) if found else kind.create(local_path(config.runs_dir), config.name)
    lock = found[1] if found else _open_lock(folder.path)
    with lock:
        if found:
            folder = kind.reopen(folder.path)
        else:
            fcntl.flock(lock, fcntl.LOCK_EX)
            folder.write_json(BEGINNING, {"config": to_plain(config), "inputs": inputs})
        yield folder, found is not None


def _find_unfinished(config: RunConfig, inputs: Inputs) -> tuple[RunFolder, IO[str]] | None:
    """Return the newest unfinished run of the same kind that no process is making."""
    for beginning in sorted(local_path(config.runs_dir).glob(f"*/{BEGINNING}"), reverse=True):
        folder = RunFolder(beginning.parent)
        recorded = folder.read_json(BEGINNING)
        if recorded["inputs"] != inputs or not same_run(recorded["config"], config):
            continue
        if not is_finished(folder) and (found := _lock(folder.path)):
            return found
    return None


def _lock(path: Path) -> tuple[RunFolder, IO[str]] | None:
    lock = _open_lock(path)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    return RunFolder(path), lock


def _open_lock(path: Path) -> IO[str]:
    try:
        return (path / "lock").open("a")
    except OSError as error:
        raise UserError(f"cannot write under {path}: {error.strerror or error}") from error


def _refuse_other_inputs(place: str, now: Inputs) -> None:
    """A run goes on only with the weights and problems it was started with."""
    then = read_beginning(place, "resume")["inputs"]
    for what in now:
        if then.get(what) != now[what]:
            raise UserError(
                f"resume={place}: the {what} has changed since the run was started "
                f"({then.get(what)} then, {now[what]} now); start a new run"
            )
