"""The folder of one run: append-only, published shard by shard.

A shard is one Parquet file in each table's folder, all of the same name. Files are written under a
temporary name and renamed, ``chains/`` last: a chain is done when its shard stands in ``chains/``.
A shard that a killed run left without that file is moved to ``orphans/`` when the run goes on, so
that no table ever counts a chain twice and nothing is deleted.
"""

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Self

import pyarrow as pa
import pyarrow.parquet as pq

from conf import UserError
from pipeline.mirror import Mirror
from pipeline.schemas import RUN_TABLES

FREE_BYTES_TO_START = 50 * 2**20
COMMIT_TABLE = "chains"
JOURNAL = "journal"
SWEEP = "sweep.json"
"""Lies in the folder of a sweep, in which the folders of its points lie."""
BEGINNING = "config.json"
"""What a run is made of, written before anything else; without it a folder is no run."""


class RunFolder:
    """Where one run keeps everything.

    Args:
        path: where it lies on this machine.
        mirror: what keeps it at an address, if that is where the run is.
    """

    tables: ClassVar[Iterable[str]] = RUN_TABLES
    commit: ClassVar[str] = COMMIT_TABLE
    """The table that is written last."""
    key: ClassVar[str] = "chain_id"
    """Its column that says what is done."""

    def __init__(self, path: Path, mirror: Mirror | None = None) -> None:
        self.path = path
        self.mirror = mirror

    @classmethod
    def create(cls, runs_dir: Path, name: str) -> Self:
        """Make a new folder ``<time>-<name>``; a name that is taken gets a number.

        Raises:
            UserError: the place cannot be written, or its disk is nearly full.
        """
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        try:
            runs_dir.mkdir(parents=True, exist_ok=True)
            free = shutil.disk_usage(runs_dir).free
            path = make_free_folder(runs_dir, f"{stamp}-{name}")
            for folder in (*cls.tables, JOURNAL):
                (path / folder).mkdir()
        except OSError as error:
            raise UserError(_unwritable(runs_dir, error)) from error
        if free < FREE_BYTES_TO_START:
            raise UserError(
                f"only {free // 2**20} MiB are free under {runs_dir}; free some space "
                f"or choose another place with runs_dir=FOLDER"
            )
        return cls(path)

    @classmethod
    def reopen(cls, path: Path, mirror: Mirror | None = None) -> Self:
        """Open a folder to go on with, and set aside what a killed run left half published.

        Raises:
            UserError: there is no run at this path.
        """
        folder = cls(path, mirror)
        if not folder.has(BEGINNING):
            raise UserError(
                f"resume={path}: no run there (no {BEGINNING}); give a folder under runs/"
            )
        if not (path / cls.commit).is_dir():
            raise UserError(
                f"resume={path}: it has no {cls.commit}/, so another command made it; go on with "
                f"it by that one"
            )
        folder._set_orphans_aside()
        folder.journal.mkdir(exist_ok=True)
        return folder

    @property
    def journal(self) -> Path:
        """The folder of the completion journal, as an absolute path."""
        return (self.path / JOURNAL).resolve()

    @property
    def journal_address(self) -> str | None:
        """Where the journal is kept beside; null for a run on this machine."""
        return str(self.mirror.address / JOURNAL) if self.mirror else None

    def shown(self, name: str = "") -> str:
        """Return what a user calls this folder, or a file in it."""
        if self.mirror:
            return str(self.mirror.address / name if name else self.mirror.address)
        return str(self.path / name)

    def write_shard(self, tables: Mapping[str, pa.Table]) -> None:
        """Publish one shard of all tables.

        Raises:
            UserError: the disk is full or the folder cannot be written.
        """
        name = f"shard-{self._next_shard():06d}.parquet"
        try:
            for table in sorted(self.tables, key=lambda table: table == self.commit):
                path = self.path / table / name
                write_parquet(tables[table], path)
                self._keep(path)
        except OSError as error:
            raise UserError(_unwritable(self.path, error)) from error

    def write_json(self, name: str, content: Any) -> Path:
        """Write a JSON file as a whole: the old one stays until the new one is complete."""
        path = self.path / name
        text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        try:
            _publish(path, text.encode())
        except OSError as error:
            raise UserError(_unwritable(self.path, error)) from error
        self._keep(path)
        return path

    def has(self, name: str) -> bool:
        """Tell whether this run has a JSON file of this name."""
        return (self.path / name).is_file()

    def read_json(self, name: str) -> Any:
        """Return the content of a JSON file of this run."""
        return json.loads((self.path / name).read_text())

    def finished_chains(self) -> set[str]:
        """Return the ids of all chains in published shards."""
        return self.finished()

    def finished(self) -> set[str]:
        """Return the ids of all that is done."""
        done: set[str] = set()
        for shard in sorted((self.path / self.commit).glob("*.parquet")):
            done.update(pq.read_table(shard, columns=[self.key])[self.key].to_pylist())
        return done

    def _keep(self, path: Path) -> None:
        if self.mirror:
            self.mirror.publish(path)

    def _next_shard(self) -> int:
        numbers = [int(p.stem.removeprefix("shard-")) for p in self.path.glob("*/shard-*.parquet")]
        return max(numbers, default=-1) + 1

    def _set_orphans_aside(self) -> None:
        committed = {path.name for path in (self.path / self.commit).glob("*.parquet")}
        for table in self.tables:
            for path in (self.path / table).iterdir():
                if path.name not in committed:
                    target = self.path / "orphans" / f"{table}-{path.name}"
                    target.parent.mkdir(exist_ok=True)
                    target = _free_name(target)
                    path.rename(target)
                    if self.mirror:
                        self.mirror.move(path, target)


def sibling_journals(folder: RunFolder) -> tuple[str, ...]:
    """Return the journals of a sweep's other points; none for a run that is no point of one."""
    if not (folder.path.parent / SWEEP).is_file():
        return ()
    found = sorted(folder.path.parent.resolve().glob(f"*/{JOURNAL}"))
    return tuple(str(path) for path in found if path != folder.journal)


def make_free_folder(parent: Path, name: str) -> Path:
    """Make a new folder; a name that is taken gets a number."""
    number = 1
    while True:
        path = parent / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir()
        except FileExistsError:
            number += 1
        else:
            return path


def _free_name(path: Path) -> Path:
    number = 1
    free = path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}.{number}")
    return free


def write_parquet(table: pa.Table, path: Path) -> None:
    """Write a table to a file that appears only when it is whole."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    _publish(path, sink.getvalue())


def _publish(path: Path, content: Any) -> None:
    temporary = path.with_name(f".{path.name}.part")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)


def _unwritable(path: Path, error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"cannot write under {path}: {reason}; free the disk or choose runs_dir=FOLDER"
