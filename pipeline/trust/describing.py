"""What a trust run would do, and what it would send, in plain text; nothing is started."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from conf import RunConfig, UserError, most_in_flight
from pipeline.compose import load_config
from pipeline.datasets import load_problems
from pipeline.describe import describe_engine, describe_stages
from pipeline.plan import local_cpus
from pipeline.preview import Reader, Request, show_request
from pipeline.trust.plan import TrustPlan, make_trust_plan
from pipeline.trust.roles import (
    PROGRAM,
    asked_roles,
    trust_book,
    trust_prompt,
    trust_sampling,
)
from pipeline.trust.stored import read_stored_samples
from pipeline.worked import unused_problems, with_example

_TITLES = {2: ("sampling", "checking"), 1: ("checking",)}


def describe_trust(overrides: Sequence[str]) -> str:
    """Return the stages, resources and requests of a trust run.

    Raises:
        UserError: the configuration or the data set is wrong, or the CPUs do not suffice.
    """
    config = load_config(overrides)
    problems = _count_problems(config)
    plan = make_trust_plan(config, problems=problems, cpus=local_cpus(config.cluster))
    titles = _TITLES[len(plan.rounds)]
    stages = describe_stages(list(zip(titles, plan.rounds, strict=True)), operators=len(titles))
    return "\n".join([*stages, "", *_resources(config, plan), "", *_work(config, plan)])


def preview_trust(overrides: Sequence[str]) -> Iterator[str]:
    """Yield the lines that show what a trust run asks about its first problems.

    Raises:
        UserError: the configuration or the data set is wrong, or nobody is asked.
    """
    config = with_example(load_config(overrides))
    if config.trust.source:
        raise UserError("trust.from: stored samples are checked; nothing is sent")
    every = load_problems(replace(config.dataset, limit=None))
    shown = unused_problems(config, every)
    asked = [problem for problem in every.to_pylist() if problem["problem_id"] not in shown]
    book, reader = trust_book(config), Reader.of(config, PROGRAM)
    for problem in asked[: config.dataset.limit]:
        for role, times in asked_roles(config).items():
            request = Request(
                title=f"{problem['problem_id']}, {role}, {times}x, each with its own seed",
                prompt=trust_prompt(book, role, problem),
                book=book,
                sampling=trust_sampling(config, role),
                template=book.config.generate_user if role == PROGRAM else "",
            )
            if times:
                yield from show_request(request, reader)


def _count_problems(config: RunConfig) -> int:
    if config.trust.source:
        return len(read_stored_samples(config).problems)
    return int(load_problems(config.dataset).num_rows)


def _resources(config: RunConfig, plan: TrustPlan) -> list[str]:
    budget = plan.budget
    stages = plan.checkers + plan.length
    return [
        "Resources:",
        describe_engine(config) if plan.length else "  engine     none: the samples are stored",
        f"  sandbox    {plan.sandbox_actors} actor(s), {config.cluster.sandbox_cpus:g} CPUs each,"
        f" isolation {config.sandbox.isolation}",
        f"  stages     {stages} actor(s), {config.cluster.stage_cpus:g} CPUs each",
        f"  CPUs       {budget.needed:g} needed, {budget.available:g} available: enough",
    ]


def _work(config: RunConfig, plan: TrustPlan) -> list[str]:
    if not plan.length:
        return ["Work:", f"  problems   {plan.chains}, with stored samples"]
    roles, sampling = asked_roles(config), config.trust.sampling
    tokens = plan.chains * (
        roles[PROGRAM] * sampling.program_max_tokens
        + (plan.requests - roles[PROGRAM]) * sampling.spec_max_tokens
    )
    asked = ", ".join(f"{times} {role}" for role, times in roles.items() if times)
    return [
        "Work:",
        f"  problems   {plan.chains}",
        f"  requests   {plan.most_requests}: for each problem {asked}",
        f"  tokens     at most {tokens} to generate",
        f"  in flight  at most {most_in_flight(config)} requests",
    ]
