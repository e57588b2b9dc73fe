"""What a trust run will do and need, worked out before anything starts."""

import math
from dataclasses import dataclass

from conf import RunConfig
from pipeline.plan import ChainPlan, CpuBudget, check_budget
from pipeline.round import check_stages
from pipeline.trust.roles import asked_roles
from pipeline.trust.schemas import TRUST_ROW
from pipeline.trust.stages import trust_rounds

SANDBOXES_A_CHECKER = 4
"""Sandbox actors that one process which decides can keep busy."""


@dataclass(frozen=True)
class TrustPlan(ChainPlan):
    """The shape of a trust run; a chain is a problem, round 0 samples, the last one checks."""

    requests: int = 0
    """Of one problem."""
    checkers: int = 1
    """Processes that send programs to the sandbox and decide."""

    @property
    def most_requests(self) -> int:
        """Requests of all problems."""
        return self.chains * self.requests


def make_trust_plan(config: RunConfig, *, problems: int, cpus: float) -> TrustPlan:
    """Work out the plan of a run.

    Args:
        config: the run.
        problems: how many are to be made.
        cpus: CPUs of the cluster, as Ray counts them.

    Raises:
        UserError: the CPUs do not suffice.
    """
    cpus = min(cpus, config.cluster.cpus or cpus)
    each = config.cluster.sandbox_cpus
    rounds = trust_rounds(config)
    check_stages((stage for stages in rounds for stage in stages), TRUST_ROW)
    sampling = len(rounds) - 1
    engines = config.engine.replicas * sampling * (config.serve.backend != "replay")
    replicas = config.engine.cpus_per_replica * engines
    room = cpus - replicas - config.cluster.stage_cpus * len(rounds)
    actors = config.sandbox.actors or max(1, math.floor(room / each))
    checkers = max(1, actors // SANDBOXES_A_CHECKER)
    stages = config.cluster.stage_cpus * (sampling + checkers)
    budget = CpuBudget(cpus, replicas, actors * each, stages)
    check_budget(budget, engines)
    return TrustPlan(
        chains=problems,
        length=len(rounds) - 1,
        rounds=rounds,
        rows_per_block=1,
        sandbox_actors=actors,
        budget=budget,
        requests=sum(asked_roles(config).values()) if sampling else 0,
        checkers=checkers,
    )
