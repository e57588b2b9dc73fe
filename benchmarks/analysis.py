"""How much CPU and memory the scores of a large run take.

Makes a synthetic run of about 1,000,000 outcome rows in a temporary folder, sharded as a real one;
then, in a fresh process, reads it and computes every score with its interval.

    python -m benchmarks.analysis [--outcomes N] [--shards N]
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from analysis import chain_metrics, read_run
from analysis.tables import RUN_TABLES
from benchmarks.machine import describe_machine

LENGTH = 5
TESTS = 16
CLOSED_SHARE = 0.4
MADE_IF_CLOSED = 3
MEAN_STEPS = CLOSED_SHARE * MADE_IF_CLOSED + (1 - CLOSED_SHARE) * (LENGTH + 1)
PROGRAM = "def func(x):\n    return x\n" * 20


def main() -> None:
    """Make the run, measure it in a process of its own, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--outcomes", type=int, default=1_010_000, help="rows, about")
    parser.add_argument("--shards", type=int, default=100, help="files of each table")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure)
        return
    with tempfile.TemporaryDirectory() as folder:
        write_run(Path(folder), options.outcomes, options.shards)
        subprocess.run(
            [sys.executable, "-m", "benchmarks.analysis", "--measure", folder], check=True
        )


def measure(folder: Path) -> None:
    """Print what the scores of the run in ``folder`` take, imports left out."""
    idle_mib = peak_mib()
    cpu, wall = time.process_time(), time.perf_counter()
    metrics = chain_metrics(read_run(folder), LENGTH)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    used_mib = peak_mib()
    rows = {
        "machine": describe_machine(),
        "outcome rows": f"{read_run(folder).outcomes.select(pl.len()).collect().item():,}",
        "chains": f"{metrics.chains:,}, length {LENGTH}",
        "CPU seconds": f"{cpu:.2f}",
        "wall seconds": f"{wall:.2f}",
        "peak memory": f"{used_mib:,.0f} MiB ({idle_mib:,.0f} MiB after the imports)",
    }
    for label, value in rows.items():
        print(f"{label:<13} {value}")


def write_run(folder: Path, outcomes: int, shards: int) -> None:
    """Write a run of one chain a problem, some of them closed early."""
    chains = round(outcomes / (TESTS * MEAN_STEPS) / shards)
    generator = np.random.default_rng(0)
    for table in RUN_TABLES:
        (folder / table).mkdir()
    for shard in range(shards):
        for table, frame in make_shard(generator, shard * chains, chains).items():
            schema = RUN_TABLES[table]
            absent = [pl.lit(None).alias(name) for name in schema if name not in frame.columns]
            whole = frame.with_columns(absent).select(
                pl.col(name).cast(kind) for name, kind in schema.items()
            )
            whole.write_parquet(folder / table / f"shard-{shard:06d}.parquet")


def make_shard(generator: np.random.Generator, start: int, count: int) -> dict[str, pl.DataFrame]:
    """Return the tables of chains ``start`` .. ``start + count - 1``."""
    chains = make_chains(generator, start, count)
    steps = (
        chains.select("chain_id", "problem_id", "sample", "steps")
        .with_columns(step=pl.int_ranges(0, pl.col("steps")))
        .explode("step")
    )
    later = pl.col("step") > 0
    same = generator.random((steps.height, TESTS)) < generator.random((steps.height, 1)) ** 0.05
    judged = steps.with_columns(
        verdict=pl.Series(np.where(generator.random(steps.height) < 0.5, "pass", "fail")),
        tests=TESTS,
        comparable=pl.when(later).then(TESTS).otherwise(0),
        matching=pl.when(later).then(pl.Series(same.sum(axis=1))).otherwise(0),
        cpu_s=0.01,
        pl=pl.lit(PROGRAM),
    )
    outcomes = steps.select(pl.all().repeat_by(TESTS).explode()).with_columns(
        test_id=pl.Series([str(test) for test in range(TESTS)] * steps.height),
        matches_previous=pl.when(later).then(pl.Series(same.ravel())),
        kind=pl.lit("value"),
        encoding=pl.lit("[1, 2, 3]"),
        message=pl.lit(""),
    )
    completions = pl.concat(
        steps.filter(pl.col("step") >= first).with_columns(
            role=pl.lit(role), prompt_tokens=300, completion_tokens=120, text=pl.lit(PROGRAM)
        )
        for role, first in (("summarize", 1), ("generate", 0))
    )
    return {"chains": chains, "steps": judged, "outcomes": outcomes, "completions": completions}


def make_chains(generator: np.random.Generator, start: int, count: int) -> pl.DataFrame:
    """Return chains that end at a fixed point or at full length."""
    closed = pl.Series("closed", generator.random(count) < CLOSED_SHARE)
    steps = pl.when(closed).then(MADE_IF_CLOSED).otherwise(LENGTH + 1)
    return pl.select(number=pl.int_range(start, start + count)).select(
        chain_id=pl.format("Synthetic/{}/0", "number"),
        problem_id=pl.format("Synthetic/{}", "number"),
        dataset=pl.lit("synthetic"),
        sample=0,
        length=LENGTH,
        steps=steps,
        stop_reason=pl.when(closed).then(pl.lit("fixed_point")).otherwise(pl.lit("length")),
        stop_step=steps - 1,
        cycle_start=pl.when(closed).then(MADE_IF_CLOSED - 1),
        cycle_length=pl.when(closed).then(1),
    )


def peak_mib() -> float:
    """Return this process's largest resident size so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
