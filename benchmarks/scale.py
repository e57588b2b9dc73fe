"""Whether the chain job keeps a large engine full, by simulation: the engine only takes its time.

Everything around the engine is real: Ray Data, Ray Serve, the client, the run folder. Two parts are
not, and the table says so. The engine is the fake one with a latency model (a time per token, a
batch that holds so many requests). Programs go through the same Ray calls as ever, but a judge runs
each program that it has not seen before in the sandbox, and answers from its record after that:
otherwise this would measure how fast two cores run programs (``benchmarks/judge.py`` does).

The ideal is the engine's own time with its batch full from the first token to the last: the sum of
all tokens' times over the size of the batch. Wall time counts from the first request to the end of
the last chain; starting Ray's actors is listed apart, because it does not grow with the run.

    python -m benchmarks.scale [key=value ...] [--chains 1000 10000 ...]
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import ray
from rich.console import Console
from rich.table import Table

from benchmarks.job import make_all
from benchmarks.machine import describe_machine
from benchmarks.processes import ProcessWatch
from conf import RunConfig, SandboxConfig
from pipeline.cluster import ray_cluster
from pipeline.compose import load_config
from pipeline.datasets import load_problems
from pipeline.journal import read_journal
from pipeline.plan import make_plan
from pipeline.tables import open_chains
from sandbox.box import Sandbox
from sandbox.pool import SandboxPool
from sandbox.types import Job, ProgramResult
from serve import EngineHandle, start_engine

PROBLEMS = 125
# A temperature makes samples of one problem different chains, and lets none end early.
DEFAULTS = (
    "serve=fake",
    # So slow that the engine, as a real one, is what limits and not this machine's two cores.
    "serve.fake_tokens_per_s=8",
    "serve.fake_batch_limit=384",
    "chain.length=5",
    "chain.sampling.temperature=0.8",
    "sandbox.actors=1",
    f"dataset.limit={PROBLEMS}",
)
POLL_S = 0.5


@dataclass(frozen=True)
class Measured:
    """One run."""

    chains: int
    requests: int
    paid: int
    """Requests that the engine answered; the journal had the rest."""
    start_s: float
    """From the call to the first request."""
    wall_s: float
    """From the first request to the end of the last chain."""
    ideal_s: float
    full_share: float | None
    """Share of the time before the tail in which the batch was full; null: there was no such."""
    tail_s: float
    """From when fewer chains were open than the batch holds."""
    start_cpu_s: float
    """Until the first request."""
    cpu_s: dict[str, float]
    """From then on, by kind of process."""
    driver_mib: float
    store_mib: float


@ray.remote(num_cpus=1)
class RecordedJudge:
    """A sandbox actor that runs each program once and remembers what it did."""

    def __init__(self, config: SandboxConfig) -> None:
        self._sandbox = Sandbox(config)
        self._record: dict[Any, ProgramResult] = {}

    def run(self, job: Job) -> ProgramResult:
        """Return what the program does on each of the job's calls."""
        key = (job.program, job.entry_point, job.calls, job.seed)
        if key not in self._record:
            self._record[key] = self._sandbox.run(job)
        return replace(self._record[key], job_id=job.job_id)

    def run_batch(self, jobs: list[Job]) -> list[ProgramResult]:
        """Return what each of the programs does."""
        return [self.run(job) for job in jobs]

    def isolation(self) -> dict[str, Any]:
        """Return what the sandbox gives."""
        return self._sandbox.isolation.to_dict()


@dataclass
class FullnessLog:
    """Asks the engine once in a while for how long its batch has been full."""

    engine: EngineHandle
    looks: list[tuple[float, float]] = field(default_factory=list)
    """Time since 1970, seconds full by then."""

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep asking while the block runs."""
        over = threading.Event()
        thread = threading.Thread(target=self._ask, args=(over,), name="fullness", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def share(self, start: float, end: float) -> float | None:
        """Return the share of a stretch of time in which the batch was full."""
        inside = [look for look in self.looks if start <= look[0] <= end]
        if len(inside) < 2:
            return None
        (first, full_before), (last, full_after) = inside[0], inside[-1]
        return (full_after - full_before) / (last - first)

    def _ask(self, over: threading.Event) -> None:
        from ray import serve as ray_serve

        spec = self.engine.spec
        handle = ray_serve.get_deployment_handle(spec.deployment, app_name=spec.app)
        while not over.wait(POLL_S):
            facts = handle.describe.remote().result()
            self.looks.append((time.time(), facts["seconds_full"]))


def main() -> None:
    """Measure each size in a process of its own, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--chains", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("overrides", nargs="*", metavar="key=value")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    overrides = given.overrides
    if given.one:
        print(json.dumps(asdict(measure(given.one, overrides))))
        return
    runs = []
    for chains in given.chains:
        words = [sys.executable, "-m", "benchmarks.scale", *overrides, "--one", str(chains)]
        done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
        runs.append(Measured(**json.loads(done.stdout.splitlines()[-1])))
        show(runs, make_config(PROBLEMS, overrides))


def make_config(chains: int, overrides: Sequence[str]) -> RunConfig:
    """Return the configuration of a run of so many chains."""
    return load_config([*DEFAULTS, f"chain.samples={max(1, chains // PROBLEMS)}", *overrides])


def measure(chains: int, overrides: Sequence[str]) -> Measured:
    """Make a run in a temporary folder."""
    config = make_config(chains, overrides)
    with tempfile.TemporaryDirectory() as scratch, ray_cluster(config.cluster) as cpus:
        table = open_chains(load_problems(config.dataset), config, finished=set())
        plan = make_plan(config, chains=table.num_rows, cpus=cpus)
        judge = RecordedJudge.remote(config.sandbox)  # type: ignore[attr-defined]
        sandbox = SandboxPool([judge], ray.get(judge.isolation.remote()))
        engine = start_engine(config, Path(scratch))
        log = FullnessLog(engine)
        with ProcessWatch() as processes, log.kept():
            called = time.time()
            folder = make_all(table, config, plan, engine, sandbox, Path(scratch) / "runs")
        return evaluate(folder.path, config, called=called, log=log, processes=processes)


def evaluate(
    run: Path, config: RunConfig, *, called: float, log: FullnessLog, processes: ProcessWatch
) -> Measured:
    """Work out the figures of a finished run."""
    batch = config.serve.fake_batch_limit * config.engine.replicas
    asked = pl.read_parquet(
        run / "completions" / "*.parquet",
        columns=["chain_id", "asked_at", "seconds", "completion_tokens"],
    )
    start = float(asked.select(pl.col("asked_at").min()).item())
    ends = (
        asked.group_by("chain_id")
        .agg((pl.col("asked_at") + pl.col("seconds")).max().alias("end"))["end"]
        .sort()
    )
    tail = float(ends[max(0, len(ends) - batch)])
    journal = read_journal(run / "journal")
    paid = journal.filter(journal["paid"])
    tokens = float(sum(paid["completion_tokens"].to_pylist()))
    return Measured(
        chains=len(ends),
        requests=asked.height,
        paid=paid.num_rows,
        start_s=start - called,
        wall_s=float(ends[-1]) - start,
        ideal_s=tokens / config.serve.fake_tokens_per_s / batch,
        full_share=log.share(start, tail),
        tail_s=float(ends[-1]) - tail,
        start_cpu_s=sum(processes.cpu_s().values()) - sum(processes.cpu_s(start).values()),
        cpu_s=processes.cpu_s(start),
        driver_mib=processes.driver_mib,
        store_mib=processes.store_mib,
    )


def show(runs: Sequence[Measured], config: RunConfig) -> None:
    """Print the table."""
    table = Table(title="Simulated engine, recorded judge; all else real")
    table.add_column("")
    for run in runs:
        table.add_column(f"{run.chains:,} chains", justify="right")
    kinds = sorted({kind for run in runs for kind in run.cpu_s})
    figures = {
        "requests": [f"{run.requests:,}" for run in runs],
        "  that the engine answered": [f"{run.paid:,}" for run in runs],
        "start, s": [f"{run.start_s:.0f}" for run in runs],
        "its CPU, s": [f"{run.start_cpu_s:.0f}" for run in runs],
        "wall, s": [f"{run.wall_s:.1f}" for run in runs],
        "ideal, s": [f"{run.ideal_s:.1f}" for run in runs],
        "wall / ideal": [f"{run.wall_s / run.ideal_s:.3f}" for run in runs],
        "batch full before the tail": [share(run.full_share) for run in runs],
        "tail, s": [f"{run.tail_s:.1f}" for run in runs],
        "driver's memory, MiB": [f"{run.driver_mib:,.0f}" for run in runs],
        "object store, MiB": [f"{run.store_mib:,.0f}" for run in runs],
        "CPU a chain, ms": [per_chain(run, sum(run.cpu_s.values())) for run in runs],
        "of each more than in the smaller run, ms": further(runs),
        **{
            f"  {kind}": [per_chain(run, run.cpu_s.get(kind, 0.0)) for run in runs]
            for kind in kinds
        },
    }
    for label, cells in figures.items():
        table.add_row(label, *cells)
    console = Console()
    console.print(describe_machine(), markup=False)
    console.print(
        f"length {config.chain.length}, {config.engine.replicas} replica(s), batch "
        f"{config.serve.fake_batch_limit}, {config.serve.fake_tokens_per_s:g} tokens/s a request"
    )
    console.print(table)


def further(runs: Sequence[Measured]) -> list[str]:
    """Return the cost of a chain without what each run pays once: its processes' start."""
    cells = ["-"]
    for smaller, larger in pairwise(runs):
        seconds = sum(larger.cpu_s.values()) - sum(smaller.cpu_s.values())
        cells.append(f"{1e3 * seconds / (larger.chains - smaller.chains):.1f}")
    return cells


def share(value: float | None) -> str:
    """Return a share, or a dash."""
    return "-" if value is None else f"{value:.3f}"


def per_chain(run: Measured, seconds: float) -> str:
    """Return milliseconds for each chain."""
    return f"{1e3 * seconds / run.chains:.1f}"


if __name__ == "__main__":
    main()
