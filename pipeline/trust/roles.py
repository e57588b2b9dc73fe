"""The trust job's four kinds of request: whom they ask what, and how it is sampled."""

from conf import RunConfig
from pipeline.prompts import PromptBook
from pipeline.records import Problem
from pipeline.roles import GENERATE, make_book
from pipeline.stages.asking import request_seed
from serve.messages import Prompt, Sampling

PROGRAM, ASSERT, RELATION, INPUT = TRUST_ROLES = ("program", "assert", "relation", "input")


def asked_roles(config: RunConfig) -> dict[str, int]:
    """Return how often a problem asks in each role."""
    trust = config.trust
    inputs = 0 if trust.inputs == "asserts" else trust.specs
    return {PROGRAM: trust.k, ASSERT: trust.specs, RELATION: trust.specs, INPUT: inputs}


def request_name(problem_id: str, sample: int, role: str) -> str:
    """Return the name of a request, on which its seed depends.

    Program n is asked for by the name, and so with the seed, with which chain n of the problem asks
    for its first program: sampled alike, they are the same, and what is known of the chain is known
    of the program.
    """
    if role == PROGRAM:
        return f"{problem_id}/{sample}/0/{GENERATE}"
    return f"{problem_id}/{sample}/{role}"


def trust_book(config: RunConfig) -> PromptBook:
    """Return what builds the requests of all roles."""
    return make_book(config, GENERATE)


def trust_prompt(book: PromptBook, role: str, problem: Problem) -> Prompt:
    """Return the one prompt that a problem sends in a role, time and again."""
    if role == PROGRAM:
        return book.generate(problem["prompt"], problem["entry_point"])
    return book.specs(role, problem["prompt"], problem["entry_point"])


def trust_sampling(config: RunConfig, role: str, request_id: str | None = None) -> Sampling:
    """Return the parameters of a role's requests; each request has a seed of its own."""
    sampling, prompts = config.trust.sampling, config.prompt
    is_program = role == PROGRAM
    stop = prompts.generate_stop if is_program else getattr(prompts, f"{role}_stop")
    return Sampling(
        max_tokens=sampling.program_max_tokens if is_program else sampling.spec_max_tokens,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        stop=(*stop, *config.model.stop),
        seed=None if request_id is None else request_seed(config.seed, request_id),
    )
