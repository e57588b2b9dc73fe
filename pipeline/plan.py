"""What a chain run will do and need, worked out before anything starts."""

import math
import os
from dataclasses import dataclass

import pyarrow as pa

from conf import ClusterConfig, RunConfig, UserError, most_in_flight
from pipeline.round import check_stages
from pipeline.schemas import CHAIN_ROW
from pipeline.stages import Stage, last_stages, round_stages

MOST_ROWS_PER_BLOCK = 32
BLOCKS_IN_FLIGHT = 64


@dataclass(frozen=True)
class CpuBudget:
    """CPUs that Ray sets aside; logical numbers, the same that Ray counts."""

    available: float
    replicas: float
    sandbox: float
    stages: float

    @property
    def needed(self) -> float:
        """All that must run at the same time for the job to move."""
        return self.replicas + self.sandbox + self.stages


@dataclass(frozen=True)
class ChainPlan:
    """The shape of a run."""

    chains: int
    length: int
    rounds: tuple[tuple[type[Stage], ...], ...]
    rows_per_block: int
    sandbox_actors: int
    budget: CpuBudget
    afterwards: tuple[type[Stage], ...] = ()
    """Stages of a last round, of chains that have ended."""
    blame: int = 0
    """Requests that a chain makes there at most."""

    @property
    def most_requests(self) -> int:
        """Requests of a run in which no chain stops early."""
        asking = [stage for stages in self.rounds for stage in stages if stage.uses == "engine"]
        return self.chains * (len(asking) + self.blame)


def make_plan(config: RunConfig, *, chains: int, cpus: float) -> ChainPlan:
    """Work out the plan of a run.

    Args:
        config: the run.
        chains: how many chains are to be made.
        cpus: CPUs of the cluster, as Ray counts them.

    Raises:
        UserError: the CPUs do not suffice, so that the job would wait for itself for ever.
    """
    cpus = min(cpus, config.cluster.cpus or cpus)
    each = config.cluster.sandbox_cpus
    steps = range(config.chain.length + 1)
    rounds = tuple(tuple(round_stages(step, config.chain)) for step in steps)
    afterwards = tuple(last_stages(config.chain))
    check_stages([*(stage for stages in rounds for stage in stages), *afterwards], CHAIN_ROW)
    describer = config.chain.describer
    engines = config.engine.replicas + (describer.replicas if describer else 0)
    if config.serve.backend == "replay":
        engines = 0
    replicas = config.engine.cpus_per_replica * engines
    stages = config.cluster.stage_cpus * (len(rounds) + bool(afterwards))
    actors = config.sandbox.actors or max(1, math.floor((cpus - replicas - stages) / each))
    budget = CpuBudget(cpus, replicas, actors * each, stages)
    check_budget(budget, engines)
    return ChainPlan(
        chains=chains,
        length=config.chain.length,
        rounds=rounds,
        rows_per_block=config.cluster.rows_per_block
        or _rows_per_block(chains, most_in_flight(config)),
        sandbox_actors=actors,
        budget=budget,
        afterwards=afterwards,
        blame=config.chain.blame,
    )


def _rows_per_block(chains: int, in_flight: int) -> int:
    # A block is a Ray task in each round. One row a block lets chains leave at once, which matters
    # when they are few; many rows a block keep the cost per chain flat, which matters for many.
    # A round must be able to hold as many chains as it may ask for at once.
    most = max(MOST_ROWS_PER_BLOCK, math.ceil(in_flight / BLOCKS_IN_FLIGHT))
    return min(most, max(1, chains // (2 * BLOCKS_IN_FLIGHT)))


def check_budget(budget: CpuBudget, engines: int) -> None:
    """Refuse a plan that would wait for itself.

    Raises:
        UserError: the CPUs do not suffice.
    """
    # Ray counts in ten-thousandths; sums of decimal fractions may miss by less than that.
    if budget.needed <= budget.available + 1e-4:
        return
    raise UserError(
        f"the cluster has {budget.available:g} CPUs and the run needs {budget.needed:g}: "
        f"{budget.replicas:g} for {engines} engine replica(s) "
        f"(engine.cpus_per_replica), {budget.sandbox:g} for sandbox actors (sandbox.actors), "
        f"{budget.stages:g} for stage actors (cluster.stage_cpus); lower one of these, "
        f"or give a local cluster more with cluster.num_cpus"
    )


def describe_columns(schema: pa.Schema) -> str:
    """Return the names of a schema's columns in one line."""
    return ", ".join(schema.names)


def local_cpus(config: ClusterConfig) -> float:
    """Return the CPUs that a local cluster would have."""
    return float(config.num_cpus or len(os.sched_getaffinity(0)))
