"""The chain job against the way of the paper's release: one request at a time through transformers.

The release (IdentityChain) walks one chain after the other and asks ``transformers`` for one
greedy answer at a time, batch size 1. This script makes both do the same requests of the same
problems with the same model: the job first, without early stop; then the peer, prompt by prompt.
A third run shows apart what early stop saves.

Both run programs in our sandbox: the release runs them in its own process, which a model's program
must never see. The seconds are printed, so that this can be taken off.

    python -m benchmarks.peer_chain [key=value ...]
"""

import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table

from benchmarks.engine_use import as_turn, read_completions
from benchmarks.job import make_all
from benchmarks.machine import describe_machine
from conf import RunConfig
from pipeline.cluster import ray_cluster
from pipeline.compose import load_config
from pipeline.datasets import load_problems
from pipeline.jobs import build_job
from pipeline.plan import make_plan
from pipeline.state import entry_name
from pipeline.tables import open_chains
from sandbox import Sandbox
from sandbox.pool import SandboxPool
from serve import resolve_model, start_engine

DEFAULTS = (
    "dataset.limit=32",
    "chain.length=1",
    "chain.sampling.generate_max_tokens=96",
    "chain.sampling.summarize_max_tokens=48",
)


@dataclass(frozen=True)
class Walk:
    """One way of making the chains."""

    name: str
    requests: int
    tokens: int
    seconds: float
    """From the first request to the last result, start-up left out."""
    judging_s: float
    """Of these, seconds in which nothing but programs ran."""


def main() -> None:
    """Measure, and print the table."""
    overrides = [*DEFAULTS, *sys.argv[1:]]
    full = load_config([*overrides, "chain.stop=[]"])
    with tempfile.TemporaryDirectory() as scratch:
        job, asked = run_job("job, every step", full, Path(scratch) / "full")
        stopped, _ = run_job("job, early stop", load_config(overrides), Path(scratch) / "stopped")
    peer, same = run_peer(full, asked)
    show(full, [peer, job, stopped], same)


def run_job(name: str, config: RunConfig, scratch: Path) -> tuple[Walk, pl.DataFrame]:
    """Run the chain job; return what it took and its requests."""
    scratch.mkdir()
    with ray_cluster(config.cluster) as cpus:
        chains = open_chains(load_problems(config.dataset), config, finished=set())
        plan = make_plan(config, chains=chains.num_rows, cpus=cpus)
        with SandboxPool.start(config.sandbox, actors=plan.sandbox_actors) as sandbox:
            engine = start_engine(config, scratch)
            folder = make_all(chains, config, plan, engine, sandbox, scratch)
    asked = read_completions(folder.path)
    turn = as_turn(asked)
    return Walk(name, turn.requests, turn.tokens, turn.seconds, 0.0), asked


def run_peer(config: RunConfig, asked: pl.DataFrame) -> tuple[Walk, int]:
    """Ask for the same answers one at a time; return what it took and how many texts agree."""
    model, tokenizer = load_peer(resolve_model(config.model).path)
    problems = {row["problem_id"]: row for row in load_problems(config.dataset).to_pylist()}
    limits = {
        "generate": config.chain.sampling.generate_max_tokens,
        "summarize": config.chain.sampling.summarize_max_tokens,
    }
    tokens = same = 0
    judging = 0.0
    with Sandbox(config.sandbox) as sandbox:
        start = time.perf_counter()
        for row in asked.iter_rows(named=True):
            text, length = complete(model, tokenizer, row["prompt"], limits[row["role"]])
            tokens += length
            same += text == row["text"]
            if row["role"] == "generate":
                before = time.perf_counter()
                problem = problems[row["problem_id"]]
                sandbox.run(_job(config, problem, row["step"], text))
                judging += time.perf_counter() - before
        seconds = time.perf_counter() - start
    return Walk("one at a time", asked.height, tokens, seconds, judging), same


def load_peer(path: str) -> tuple[Any, Any]:
    """Load the model as the release does, in float32."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    return model.eval(), AutoTokenizer.from_pretrained(path)


def complete(model: Any, tokenizer: Any, prompt: str, limit: int) -> tuple[str, int]:
    """Return one greedy answer and its number of tokens."""
    import torch

    given = tokenizer(prompt, return_tensors="pt", add_special_tokens=False)
    with torch.inference_mode():
        made = model.generate(**given, max_new_tokens=limit, do_sample=False)
    new = made[0, given["input_ids"].shape[1] :]
    return tokenizer.decode(new, skip_special_tokens=True), len(new)


def _job(config: RunConfig, problem: dict[str, Any], step: int, text: str) -> Any:
    from pipeline.extraction import extract

    name = entry_name(problem["entry_point"], step)
    return build_job(
        f"{problem['problem_id']}/{step}",
        program=extract(text, name).program or "",
        preamble=problem["preamble"],
        entry_point=problem["entry_point"],
        called=name,
        tests=problem["tests"],
        config=config.sandbox,
    )


def show(config: RunConfig, walks: Sequence[Walk], same: int) -> None:
    """Print the table."""
    first = walks[0]
    table = Table(title="The same chains, one request at a time and through the job")
    for column in ("way", "requests", "tokens", "seconds", "of it judging", "times faster"):
        table.add_column(column, justify="right")
    for walk in walks:
        table.add_row(
            walk.name,
            str(walk.requests),
            str(walk.tokens),
            f"{walk.seconds:.1f}",
            f"{walk.judging_s:.1f}" if walk is first else "overlaps",
            f"{first.seconds / walk.seconds:.2f}",
        )
    console = Console()
    console.print(describe_machine(), markup=False)
    console.print(
        f"{config.model.label}, {config.dataset.limit} chains of length {config.chain.length}"
    )
    console.print(table)
    console.print(f"{same} of {first.requests} texts are equal in the first two")


if __name__ == "__main__":
    main()
