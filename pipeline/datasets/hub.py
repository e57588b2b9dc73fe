"""Data sets of the Hugging Face hub, and folders laid out like one, through ``datasets``.

The library finds the files of a repository, downloads them once and keeps them in its own
cache; the records then go through the same converters as a file's.
"""

import functools
import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from conf import UserError
from pipeline.datasets.fields import Record
from pipeline.datasets.reading import parse_record

TEXT = "text"
"""The library's builder for files of lines. Its JSON one wants one type for each field, and
EvalPlus's inputs have many."""


@dataclass(frozen=True, slots=True)
class Repository:
    """What to ask the library for."""

    path: str
    """A repository of the hub, a folder, or ``text`` for ``url``."""
    config: str | None = None
    """Which of the repository's configurations; None for its only one."""
    url: str | None = None
    """A published file of JSON Lines, where the hub has no repository."""

    @property
    def origin(self) -> str:
        """Where the records come from, for people."""
        return self.url or self.path


@dataclass(frozen=True, slots=True)
class HubDataset:
    """A data set that we know by name."""

    repository: Repository
    licence: str


HUB = {
    "humaneval_plus": HubDataset(
        Repository("evalplus/humanevalplus"), "Apache-2.0 (its HumanEval parts MIT)"
    ),
    "humaneval_plus_mini": HubDataset(
        Repository(
            TEXT,
            url="https://github.com/evalplus/humanevalplus_release/releases/download/v0.1.10/"
            "HumanEvalPlus-Mini.jsonl.gz",
        ),
        "Apache-2.0 (its HumanEval parts MIT)",
    ),
    "mbpp_sanitized": HubDataset(
        Repository("google-research-datasets/mbpp", config="sanitized"), "CC-BY-4.0"
    ),
    "mbpp_plus": HubDataset(
        Repository("evalplus/mbppplus"), "Apache-2.0 (its MBPP parts CC-BY-4.0)"
    ),
}


@dataclass(frozen=True, slots=True)
class Loaded:
    """The records of a repository, in its order."""

    records: tuple[Record, ...]
    version: str
    """The commit, where the library knows it; else a SHA-256 over the records."""


@functools.lru_cache(maxsize=1)
def load_repository(repository: Repository) -> Loaded:
    """Return the records of a repository's test split, or of its only one.

    Raises:
        UserError: the library is missing, the repository cannot be had, or it has several
            splits and none is named test.
    """
    rows = _test_split(_load(repository), repository)
    records = tuple(_record(row, f"{repository.origin}, row {n}") for n, row in enumerate(rows, 1))
    return Loaded(records, _commit(rows) or _digest(records))


def _load(repository: Repository) -> Any:
    try:
        import datasets
    except ModuleNotFoundError as error:
        raise UserError(
            f"{repository.origin} is read by the package datasets; install it with: "
            "pip install datasets"
        ) from error
    try:
        return datasets.load_dataset(repository.path, repository.config, data_files=repository.url)
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        raise _cannot_be_had(repository, error) from error


def _cannot_be_had(repository: Repository, error: Exception) -> UserError:
    reason = (str(error) or type(error).__name__).splitlines()[0]
    return UserError(f"{repository.origin}: cannot be loaded: {reason}; {_way_out(repository)}")


def _way_out(repository: Repository) -> str:
    if repository.url:
        return "fetch that file where there is a network and set dataset.path=FILE"
    return (
        "where there is no hub, fetch the repository elsewhere (hf download --repo-type dataset "
        f"{repository.path} --local-dir FOLDER) and set dataset.path=FOLDER"
    )


def _test_split(splits: Any, repository: Repository) -> Any:
    if "test" in splits:
        return splits["test"]
    if len(splits) == 1:
        return next(iter(splits.values()))
    raise UserError(
        f"{repository.origin}: no split is named test, and there are several: "
        f"{', '.join(splits)}; set dataset.path to the file of one"
    )


def _record(row: dict[str, Any], where: str) -> Record:
    return parse_record(where, row["text"].encode()) if set(row) == {"text"} else Record(row, where)


def _commit(rows: Any) -> str | None:
    """Return the commit in the addresses of what was downloaded: ``hf://...@COMMIT/...``."""
    for address in rows.info.download_checksums or {}:
        found = re.match(r"hf://[^@]+@([0-9a-f]{40})/", address)
        if found:
            return found[1]
    return None


def _digest(records: tuple[Record, ...]) -> str:
    digest = hashlib.sha256()
    for record in records:
        digest.update(json.dumps(record.fields, sort_keys=True, default=str).encode() + b"\n")
    return f"sha256:{digest.hexdigest()}"
