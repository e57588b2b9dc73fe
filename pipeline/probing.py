"""The probe of ``describe``: a few chains on the real parts, and the engine's speed when full."""

import asyncio
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import polars as pl

from analysis import read_run
from conf import RunConfig, UserError
from pipeline.cluster import ray_cluster
from pipeline.console import captured_output
from pipeline.datasets import load_problems
from pipeline.describe import most_tokens
from pipeline.estimate import Costs, RunEstimate, estimate_run, probe_size, spread
from pipeline.plan import ChainPlan, make_plan
from pipeline.run import run
from pipeline.sweep.engines import Engines
from pipeline.sweep.points import engines_for
from serve import ClientSpec, Completion, EngineClient, Prompt, Sampling

MOST_AT_ONCE = 4096


def probe_run(overrides: Sequence[str], config: RunConfig) -> RunEstimate:
    """Make a few chains of a run in a folder that is thrown away, and say what all will cost.

    Args:
        overrides: of the run.
        config: what they compose to.

    Raises:
        UserError: what keeps a run from starting keeps the probe, too.
    """
    problems = load_problems(config.dataset)["problem_id"].to_pylist()
    wanted = probe_size(len(problems))
    ids = [problems[index] for index in spread(len(problems), wanted)]
    chains = len(problems) * config.chain.samples
    with tempfile.TemporaryDirectory(prefix="holdtrue-probe-") as scratch:
        place = Path(scratch)
        with captured_output(place / "log"), ray_cluster(config.cluster) as cpus:
            engines = Engines(place)
            try:
                return _probe(
                    overrides,
                    config,
                    ids,
                    make_plan(config, chains=chains, cpus=cpus),
                    engines,
                    place,
                )
            finally:
                engines.close()


def _probe(
    overrides: Sequence[str],
    config: RunConfig,
    ids: list[str],
    plan: ChainPlan,
    engines: Engines,
    place: Path,
) -> RunEstimate:
    needed = engines_for(config)
    for why in engines.change_to(needed).values():
        raise UserError(why)
    listed = ",".join(f"'{name}'" for name in ids)
    words = [
        *(word for word in overrides if not word.startswith("dataset.limit=")),
        f"dataset.ids=[{listed}]",
        "dataset.limit=null",
        f"runs_dir='{place / 'runs'}'",
        "tracking=none",
        "fresh=true",
        "budget.tokens=null",
        "budget.minutes=null",
    ]
    run(words)
    (folder,) = (place / "runs").iterdir()
    completions = read_run(folder).completions.collect()
    full = min(plan.chains, needed[0].batch, MOST_AT_ONCE)
    spec = engines.spec_of(needed[0].name)
    speed = asyncio.run(_speed(spec, completions, full, config.chain.sampling.temperature))
    return estimate_run(
        completions,
        chains=plan.chains,
        most=_most(config, plan, completions),
        tokens_per_s=speed,
        seed=config.seed,
    )


def _most(config: RunConfig, plan: ChainPlan, completions: pl.DataFrame) -> Costs:
    """Return what a chain costs that goes on to its end, every answer at its limit."""
    requests = plan.most_requests / plan.chains
    longest_prompt = completions["prompt_tokens"].fill_null(0).max()
    read = requests * float(cast(int, longest_prompt))
    return Costs(requests, read, most_tokens(config, plan) / plan.chains)


async def _speed(
    spec: ClientSpec, completions: pl.DataFrame, count: int, temperature: float
) -> float:
    """Return tokens written per second when ``count`` of the probe's requests run together."""
    asked = completions.filter(pl.col("completion_tokens") > 0)
    if asked.is_empty():
        raise UserError("the probe got no answer from the engine; see ./launch.sh run")
    prompts = asked["prompt"].to_list()
    limits = asked["completion_tokens"].to_list()
    client = EngineClient.open(replace(spec, max_in_flight=count))
    started = time.monotonic()
    answers = await asyncio.gather(
        *(
            client.generate(
                f"speed/{n}",
                # A head of its own, so that nothing is found in the prefix cache.
                Prompt(text=f"{n} {prompts[n % len(prompts)]}"),
                Sampling(limits[n % len(prompts)], temperature=temperature),
            )
            for n in range(count)
        )
    )
    took = time.monotonic() - started
    return sum(a.completion_tokens for a in answers if isinstance(a, Completion)) / max(took, 1e-6)
