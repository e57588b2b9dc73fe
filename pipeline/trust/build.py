"""The matrix of many problems, built shard by shard by several processes; a stopped one goes on."""

import json
import resource
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow as pa

from conf import SandboxConfig, UserError
from pipeline.checking import OneSandbox
from pipeline.runfolder import write_parquet
from pipeline.trust.matrix import Cost, check_problem
from pipeline.trust.samples import ProblemSamples
from pipeline.trust.schemas import TRUST_TABLES

COMMIT_TABLE = "checks"
BATCH = 4
"""Problems a sandbox is started for: few, so that little is lost when a run is stopped."""


def build_matrix(
    source: Iterable[ProblemSamples],
    folder: Path,
    *,
    made_of: dict[str, Any],
    workers: int = 1,
) -> Iterator[Cost]:
    """Check all problems that the folder does not have yet.

    Args:
        source: problems with their samples.
        folder: gets one folder a table, one file a problem; made if it is not there.
        made_of: what the samples are; a folder is only gone on with for the same.
        workers: processes, each with a sandbox of its own.

    Yields:
        The cost of each batch of problems, as it is done.

    Raises:
        UserError: the folder holds a matrix of other samples.
    """
    _claim(folder, made_of)
    waiting = (samples for samples in source if not _shard(folder, samples).exists())
    batches = iter(lambda: list(islice(waiting, BATCH)), [])
    running: set[Future[Cost]] = set()
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for batch in batches:
            running.add(pool.submit(check_batch, batch, folder))
            if len(running) > workers:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (_log(folder, future.result()) for future in done)
        yield from (_log(folder, future.result()) for future in running)


def check_batch(batch: list[ProblemSamples], folder: Path) -> Cost:
    """Check some problems in one sandbox of this process, and write their shards."""
    from sandbox import Sandbox

    total, before = Cost(), _cpu_s()
    with Sandbox(SandboxConfig()) as sandbox:
        for samples in batch:
            tables, cost = check_problem(samples, OneSandbox(sandbox))
            _write(tables, folder, _shard(folder, samples).name)
            total.add(cost)
    total.cpu_s = _cpu_s() - before
    return total


def built_cost(folder: Path) -> Cost:
    """Return what building a matrix took in all, over all its starts."""
    total = Cost()
    for line in (folder / "cost.jsonl").read_text().splitlines():
        total.add(Cost(**json.loads(line)))
    return total


def _claim(folder: Path, made_of: dict[str, Any]) -> None:
    for table in TRUST_TABLES:
        (folder / table).mkdir(parents=True, exist_ok=True)
    manifest = folder / "manifest.json"
    if manifest.exists() and json.loads(manifest.read_text()) != made_of:
        raise UserError(f"{folder}: holds a matrix of other samples; choose another folder")
    manifest.write_text(json.dumps(made_of, indent=2) + "\n")


def _shard(folder: Path, samples: ProblemSamples) -> Path:
    name = samples.problem["problem_id"].replace("/", "-")
    return folder / COMMIT_TABLE / f"{name}.parquet"


def _write(tables: dict[str, pa.Table], folder: Path, name: str) -> None:
    for table in sorted(tables, key=lambda table: table == COMMIT_TABLE):
        write_parquet(tables[table], folder / table / name)


def _log(folder: Path, cost: Cost) -> Cost:
    with (folder / "cost.jsonl").open("a") as lines:
        lines.write(json.dumps(asdict(cost)) + "\n")
    return cost


def _cpu_s() -> float:
    """Return the CPU seconds of this process and of all its ended children."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)
