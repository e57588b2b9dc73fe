"""The GPUs of a run: what each replica asks for, and whether a cluster's nodes can give it."""

from collections.abc import Sequence
from dataclasses import dataclass

from conf import RunConfig, UserError
from serve import Placement, placement_of


@dataclass(frozen=True)
class GpuPlan:
    """Replicas and what each of them takes."""

    replicas: int
    gpus: float
    """GPUs of one replica."""
    placement: Placement | None
    """Bundles of one replica that is sharded; None where it is one process."""

    @property
    def needed(self) -> float:
        """GPUs of all replicas."""
        return self.replicas * self.gpus


def gpu_plan(config: RunConfig) -> GpuPlan:
    """Work out the GPUs of a run; the model that describes has engines of its own."""
    describer = config.chain.describer
    replicas = config.engine.replicas + (describer.replicas if describer else 0)
    placement = placement_of(config)
    if config.serve.backend != "vllm":
        return GpuPlan(replicas, 0, None)
    if placement:
        return GpuPlan(replicas, len(placement.bundles), placement)
    return GpuPlan(replicas, config.engine.gpus_per_replica, None)


def check_gpus(plan: GpuPlan, nodes: Sequence[float]) -> None:
    """Check that all replicas find their GPUs.

    Args:
        plan: of the run.
        nodes: GPUs of each node of the cluster.

    Raises:
        UserError: they do not, so that the engine would wait for them until its deadline.
    """
    if not plan.gpus:
        return
    together = plan.placement is None or plan.placement.strategy == "STRICT_PACK"
    room = sum(_room(node, plan.gpus) for node in nodes) if together else sum(nodes) // plan.gpus
    if room < plan.replicas:
        where = " on one node" if together and plan.gpus > 1 else ""
        raise UserError(
            f"{plan.replicas} engine replica(s) need {plan.gpus:g} GPUs each{where}, and the nodes "
            f"of the cluster have {', '.join(f'{node:g}' for node in nodes) or 'none'}: room for "
            f"{room:g}; lower engine.replicas or engine.tensor_parallel_size"
            + ("" if not where else ", or let a replica span nodes with engine.across_nodes=true")
        )


def describe_gpus(plan: GpuPlan) -> str:
    """Return the plan in one line."""
    if not plan.gpus:
        return "none"
    if plan.placement is None:
        return f"{plan.needed:g} needed: {plan.replicas} x {plan.gpus:g}"
    bundles = " ".join(_bundle(bundle) for bundle in plan.placement.bundles)
    return f"{plan.needed:g} needed: {plan.replicas} x {plan.placement.strategy} {bundles}"


def _bundle(bundle: dict[str, float]) -> str:
    return "{" + ", ".join(f"{name}: {number:g}" for name, number in bundle.items()) + "}"


def _room(node: float, each: float) -> int:
    # A share of a GPU never straddles two.
    return int(node) * int(1 / each + 1e-9) if each < 1 else int(node // each)
