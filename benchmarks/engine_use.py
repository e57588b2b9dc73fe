"""How much of the engine's speed the pipeline keeps.

The chain job runs for real (Ray Data, sandbox, run folder). Then a bare asyncio loop walks the same
chains on the same engine: the same prompts, one after the other in each chain, all chains at
once, with nothing around them. Tokens per second are counted from the first request to the last
answer, so start-up is left out. The two take turns.

    python -m benchmarks.engine_use [--turns N] [key=value ...]
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
from rich.console import Console
from rich.table import Table

from benchmarks.job import make_all
from benchmarks.machine import describe_machine
from conf import RunConfig
from pipeline.cluster import ray_cluster
from pipeline.compose import load_config
from pipeline.datasets import load_problems
from pipeline.plan import make_plan
from pipeline.roles import make_sampling
from pipeline.tables import open_chains
from sandbox.pool import SandboxPool
from serve import Completion, EngineClient, EngineHandle, Prompt, start_engine

# Without early stop both do the same; a prefix cache would favour whoever comes second.
DEFAULTS = ("dataset.limit=32", "chain.stop=[]", "engine.enable_prefix_caching=false")


@dataclass(frozen=True)
class Turn:
    """What one walk over all chains came to."""

    tokens: int
    requests: int
    seconds: float

    @property
    def rate(self) -> float:
        """Generated tokens per second."""
        return self.tokens / self.seconds


@dataclass(frozen=True)
class Request:
    """One request of a chain, as the engine saw it, and the text that came back."""

    prompt: str
    role: str
    text: str


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("overrides", nargs="*")
    given = parser.parse_args()
    config = load_config([*DEFAULTS, *given.overrides])
    with tempfile.TemporaryDirectory() as scratch:
        pipeline, bare, changed = measure(config, Path(scratch), given.turns)
    show(config, pipeline, bare, changed)


def measure(config: RunConfig, scratch: Path, turns: int) -> tuple[list[Turn], list[Turn], int]:
    """Return the turns of both, and how many texts of the bare loop differ from the job's."""
    pipeline: list[Turn] = []
    bare: list[Turn] = []
    changed = 0
    with ray_cluster(config.cluster) as cpus:
        chains = open_chains(load_problems(config.dataset), config, finished=set())
        plan = make_plan(config, chains=chains.num_rows, cpus=cpus)
        with SandboxPool.start(config.sandbox, actors=plan.sandbox_actors) as sandbox:
            engine = start_engine(config, scratch)
            for turn in range(turns):
                runs = scratch / f"turn {turn}"
                folder = make_all(chains, config, plan, engine, sandbox, runs)
                asked = read_completions(folder.path)
                pipeline.append(as_turn(asked))
                seconds, texts = asyncio.run(walk(engine, config, by_chain(asked)))
                bare.append(replace(pipeline[-1], seconds=seconds))
                changed += texts
    return pipeline, bare, changed


def read_completions(run: Path) -> pl.DataFrame:
    """Return all requests of a run, in the order of each chain."""
    frame = pl.read_parquet(run / "completions" / "*.parquet")
    return frame.sort("chain_id", "step", pl.col("role") == "generate")


def as_turn(asked: pl.DataFrame) -> Turn:
    """Return the job's tokens and the time from its first request to its last answer."""
    sums = asked.select(
        pl.col("completion_tokens").sum(),
        (pl.col("asked_at") + pl.col("seconds")).max() - pl.col("asked_at").min(),
    )
    tokens, seconds = sums.row(0)
    return Turn(tokens, asked.height, seconds)


def by_chain(asked: pl.DataFrame) -> list[list[Request]]:
    """Return the requests of each chain."""
    return [
        [Request(*row) for row in chain.select("prompt", "role", "text").iter_rows()]
        for _, chain in asked.group_by("chain_id", maintain_order=True)
    ]


async def walk(
    engine: EngineHandle, config: RunConfig, chains: Sequence[Sequence[Request]]
) -> tuple[float, int]:
    """Walk all chains at once; return the seconds and how many texts differ."""
    client = EngineClient.open(engine.spec)

    async def walk_chain(index: int, requests: Sequence[Request]) -> int:
        differing = 0
        for step, request in enumerate(requests):
            answer = await client.generate(
                f"bare/{index}/{step}/{time.monotonic_ns()}",
                Prompt(text=request.prompt),
                make_sampling(config, request.role),
            )
            differing += not isinstance(answer, Completion) or answer.text != request.text
        return differing

    start = time.perf_counter()
    changed = await asyncio.gather(*(walk_chain(i, chain) for i, chain in enumerate(chains)))
    return time.perf_counter() - start, sum(changed)


def show(config: RunConfig, pipeline: list[Turn], bare: list[Turn], changed: int) -> None:
    """Print the table."""
    table = Table(title="Tokens per second: the whole job against a bare loop, same engine")
    for column in ("turn", "requests", "tokens", "job", "bare loop", "job / bare"):
        table.add_column(column, justify="right")
    ratios = []
    for number, (job, loop) in enumerate(zip(pipeline, bare, strict=True), start=1):
        ratios.append(job.rate / loop.rate)
        cells = (number, job.requests, job.tokens, f"{job.rate:.1f}", f"{loop.rate:.1f}")
        table.add_row(*map(str, cells), f"{ratios[-1]:.3f}")
    console = Console()
    console.print(describe_machine(), markup=False)
    console.print(
        f"{config.model.label}, {config.dataset.limit} chains of length {config.chain.length}"
    )
    console.print(table)
    console.print(f"median ratio {statistics.median(ratios):.3f}; texts that differ: {changed}")


if __name__ == "__main__":
    main()
