"""The chain's two roles: which model takes which, with what prompts and which sampling."""

import re
from dataclasses import replace

from conf import ModelConfig, PromptConfig, RunConfig
from pipeline.prompts import PromptBook
from serve.messages import Sampling

GENERATE, SUMMARIZE = ROLES = ("generate", "summarize")


def model_of_role(config: RunConfig, role: str) -> ModelConfig:
    """Return the model that answers in a role."""
    describer = config.chain.describer
    return describer.model if describer and role == SUMMARIZE else config.model


def prompts_of_role(config: RunConfig, role: str) -> PromptConfig:
    """Return the prompt set of the model that answers in a role."""
    describer = config.chain.describer
    return describer.prompt if describer and role == SUMMARIZE else config.prompt


def describing(config: RunConfig) -> RunConfig | None:
    """Return the configuration of the engine that only describes, if there is one.

    It is that of a run whose one model is the describer, so that whatever starts and names an
    engine needs to know of one model only.
    """
    describer = config.chain.describer
    if describer is None:
        return None
    return replace(
        config,
        model=describer.model,
        prompt=describer.prompt,
        engine=replace(config.engine, replicas=describer.replicas),
        chain=replace(config.chain, describer=None),
    )


def make_book(config: RunConfig, role: str) -> PromptBook:
    """Return what builds the requests of a role."""
    return PromptBook(prompts_of_role(config, role), model_of_role(config, role), config.example)


def make_sampling(
    config: RunConfig, role: str, *, seed: int | None = None, sample: int = 0
) -> Sampling:
    """Return the parameters of a role's requests; greedy requests carry no seed.

    Args:
        config: the run.
        role: ``generate`` or ``summarize``.
        seed: of this request.
        sample: which draw of the same prompt and parameters it is.
    """
    sampling, prompts = config.chain.sampling, prompts_of_role(config, role)
    limit, stop = {
        GENERATE: (sampling.generate_max_tokens, prompts.generate_stop),
        SUMMARIZE: (sampling.summarize_max_tokens, prompts.summarize_stop),
    }[role]
    return Sampling(
        max_tokens=limit,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        stop=(*stop, *model_of_role(config, role).stop),
        seed=seed if sampling.temperature > 0 else None,
        sample=sample,
    )


def make_resampling(config: RunConfig, *, seed: int | None = None) -> Sampling:
    """Return the parameters of programs that are sampled again where a chain broke.

    They are those of the chain's own programs, but never greedy, for then all would be the same.
    """
    chain = config.chain
    temperature = chain.sampling.temperature or chain.blame_temperature
    return replace(make_sampling(config, GENERATE), temperature=temperature, seed=seed)


def answer_proper(text: str, model: ModelConfig) -> str:
    """Return the part of a completion that is the answer: all of it, unless the model's card says
    after which mark it begins.
    """
    if not model.answer_after:
        return text
    marks = list(re.finditer(model.answer_after, text))
    return text[marks[-1].end() :] if marks else ""
