"""``trust.from=FOLDER``: stored samples in CodeT's layout, or the tables of another trust run."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from conf import DatasetConfig, RunConfig, UserError
from pipeline.datasets import dataset_facts, load_problems
from pipeline.fetching import fetch_run
from pipeline.records import Problem
from pipeline.trust.codet import CodetChoice, describe_codet, read_codet
from pipeline.trust.samples import ProblemSamples, Sampled

_PROGRAMS = ("problem_id", "source", "samples", "weight", "logprob")
_SPECS = ("problem_id", "kind", "source", "samples")
_OUTPUTS = ("problem_id", "input_id", "args")


@dataclass(frozen=True)
class StoredSamples:
    """The samples of a folder and what the manifest says of them."""

    problems: tuple[ProblemSamples, ...]
    dataset: dict[str, Any]
    source: dict[str, Any]


def read_stored_samples(config: RunConfig) -> StoredSamples:
    """Read the folder that ``trust.from`` names; ``dataset.ids`` and ``dataset.limit`` choose.

    Raises:
        UserError: there is no such folder, or it is in neither layout; the message says what it
            lacks.
    """
    folder = fetch_run(config.trust.source or "")
    if not folder.is_dir():
        raise UserError(f"trust.from={folder}: there is no such folder")
    if (folder / "programs").is_dir():
        return _from_tables(folder, config)
    return _from_codet(folder, config)


def _from_codet(folder: Path, config: RunConfig) -> StoredSamples:
    codet = config.trust.codet
    choice = CodetChoice(
        folder, codet.programs, codet.tests, codet.postconditions, codet.most_programs
    )
    source = describe_codet(choice)
    problems = tuple(_chosen(read_codet(choice), config.dataset))
    if not problems:
        raise UserError(f"trust.from={folder}: has none of dataset.ids")
    digest = hashlib.sha256(repr([p.problem for p in problems]).encode()).hexdigest()
    name = problems[0].problem["dataset"]
    facts = {
        "name": name,
        "origin": config.trust.source,
        "digest": digest,
        "problems": len(problems),
    }
    return StoredSamples(problems, facts, source)


def _chosen(every: Iterable[ProblemSamples], dataset: DatasetConfig) -> Iterator[ProblemSamples]:
    wanted = set(dataset.ids)
    left = float("inf") if dataset.limit is None else dataset.limit
    for samples in every:
        if left > 0 and (not wanted or samples.problem["problem_id"] in wanted):
            left -= 1
            yield samples


def _from_tables(folder: Path, config: RunConfig) -> StoredSamples:
    """Read a run's samples; its problems come from the data set, which the run must have used."""
    programs = _by_problem(folder, "programs", _PROGRAMS)
    specs, outputs = (
        _by_problem(folder, "specs", _SPECS),
        _by_problem(folder, "outputs", _OUTPUTS, fuzz=True),
    )
    table = load_problems(replace(config.dataset, limit=None))
    known: list[Problem] = [p for p in table.to_pylist() if p["problem_id"] in programs]
    if not known:
        raise UserError(
            f"trust.from={folder}: the data set {config.dataset.name} has none of its problems; "
            "give the one that it was made with (dataset=...)"
        )
    known = known[: config.dataset.limit]
    problems = tuple(
        _of_rows(
            problem,
            programs[problem["problem_id"]],
            specs[problem["problem_id"]],
            outputs[problem["problem_id"]],
        )
        for problem in known
    )
    facts = dataset_facts(config.dataset, table)
    source = {"files": {path.name: _digest(path) for path in _shards(folder, "programs")}}
    return StoredSamples(problems, asdict(facts), source)


def _of_rows(
    problem: Problem,
    programs: list[dict[str, Any]],
    specs: list[dict[str, Any]],
    outputs: list[dict[str, Any]],
) -> ProblemSamples:
    # In the order of their numbers, which is that of their frequency.
    inputs = {row["input_id"]: row["args"] for row in outputs}
    return ProblemSamples(
        problem=problem,
        programs=tuple(_sampled(row) for row in programs if row["weight"] > 0),
        asserts=tuple(_sampled(row) for row in specs if row["kind"] == "io"),
        relations=tuple(_sampled(row) for row in specs if row["kind"] == "relation"),
        calls=tuple(f"{problem['entry_point']}({inputs[n]})" for n in sorted(inputs)),
    )


def _sampled(row: dict[str, Any]) -> Sampled:
    return Sampled(row["source"], tuple(row["samples"]), row.get("logprob"))


def _by_problem(
    folder: Path, table: str, names: tuple[str, ...], *, fuzz: bool = False
) -> defaultdict[str, list[dict[str, Any]]]:
    found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for path in _shards(folder, table):
        filters = [("fuzz", "=", True)] if fuzz else None
        try:
            rows = pq.read_table(path, columns=list(names), filters=filters)
        except (pa.ArrowException, KeyError) as error:
            raise UserError(f"{path}: is no table of a trust run: {error}") from error
        for row in rows.to_pylist():
            found[row["problem_id"]].append(row)
    return found


def _shards(folder: Path, table: str) -> list[Path]:
    shards = sorted((folder / table).glob("*.parquet"))
    if not shards:
        raise UserError(f"trust.from={folder}: there is nothing in {table}/")
    return shards


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
