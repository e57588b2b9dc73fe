"""What a run would do, in plain text: stages, columns, resources, requests, CPUs."""

from collections.abc import Sequence

from conf import RunConfig, most_in_flight
from pipeline.gpus import describe_gpus, gpu_plan
from pipeline.plan import ChainPlan, describe_columns
from pipeline.stages import Stage


def describe(config: RunConfig, plan: ChainPlan) -> str:
    """Return the description of a plan."""
    return "\n".join([*_stages(plan), "", *_resources(config, plan), "", *_work(config, plan)])


def most_tokens(config: RunConfig, plan: ChainPlan) -> int:
    """Return the tokens that a run writes if no chain stops early and every answer is cut off."""
    sampling = config.chain.sampling
    return plan.chains * (
        (plan.length + 1 + plan.blame) * sampling.generate_max_tokens
        + plan.length * sampling.summarize_max_tokens
    )


def _stages(plan: ChainPlan) -> list[str]:
    rounds = [("round 0", plan.rounds[0]), (f"rounds 1-{plan.length}", plan.rounds[1])]
    if plan.afterwards:
        rounds.append(("of chains that have ended", plan.afterwards))
    return describe_stages(rounds, operators=_operators(plan))


def describe_stages(
    rounds: Sequence[tuple[str, Sequence[type[Stage]]]], *, operators: int
) -> list[str]:
    """Return the lines that say what each round's stages read and write.

    Args:
        rounds: title and stages.
        operators: how many there are in all; a title may stand for several.
    """
    many = "round" if operators == 1 else "rounds"
    lines = [f"Stages ({operators} {many}, each one Ray Data operator):"]
    for title, round_ in rounds:
        lines.append(f"  {title}")
        for stage in round_:
            on = f"  (waits for the {stage.uses})" if stage.uses else ""
            lines.append(f"    {stage.name}{on}")
            lines.append(f"      reads  {describe_columns(stage.reads)}")
            lines.append(f"      writes {describe_columns(stage.writes)}")
    return lines


def _operators(plan: ChainPlan) -> int:
    return len(plan.rounds) + bool(plan.afterwards)


def _resources(config: RunConfig, plan: ChainPlan) -> list[str]:
    budget = plan.budget
    return [
        "Resources:",
        describe_engine(config),
        *_describer(config, _gpus_each(config)),
        f"  sandbox    {plan.sandbox_actors} actor(s), {config.cluster.sandbox_cpus:g} CPUs each,"
        f" isolation {config.sandbox.isolation}",
        f"  stages     {_operators(plan)} actor(s), {config.cluster.stage_cpus:g} CPUs each",
        f"  GPUs       {describe_gpus(gpu_plan(config))}",
        f"  CPUs       {budget.needed:g} needed, {budget.available:g} available: enough",
    ]


def describe_engine(config: RunConfig) -> str:
    """Return the line that says what answers."""
    engine = config.engine
    return (
        f"  engine     {engine.replicas} replica(s) of {config.model.label}"
        f" ({config.serve.backend}), {engine.cpus_per_replica:g} CPUs and"
        f" {_gpus_each(config)} GPUs each"
    )


def _gpus_each(config: RunConfig) -> int:
    return config.engine.tensor_parallel_size if config.engine.gpus_per_replica else 0


def _describer(config: RunConfig, gpus: float) -> list[str]:
    describer = config.chain.describer
    if describer is None:
        return []
    return [
        f"  describer  {describer.replicas} replica(s) of {describer.model.label},"
        f" {config.engine.cpus_per_replica:g} CPUs and {gpus} GPUs each"
    ]


def _work(config: RunConfig, plan: ChainPlan) -> list[str]:
    return [
        "Work:",
        f"  chains     {plan.chains} of length {plan.length}, {plan.rows_per_block} to a block",
        f"  requests   at most {plan.most_requests}"
        f" (stop rules: {', '.join(config.chain.stop) or 'none'})",
        f"  tokens     at most {most_tokens(config, plan)} to generate",
        f"  in flight  at most {most_in_flight(config)} requests for each round",
    ]
