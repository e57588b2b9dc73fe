"""What the two stages that ask the engine share: one request, and its record."""

import hashlib
import time
from collections.abc import Sequence

from pipeline.records import Answer
from pipeline.stages.base import AnswersPrompts
from serve.messages import Answer as EngineAnswer
from serve.messages import Completion, Prompt, Sampling


def request_seed(run_seed: int, request_id: str) -> int:
    """Return a seed of 31 bits that depends on nothing but the run's seed and the request."""
    digest = hashlib.sha256(f"{run_seed}/{request_id}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def sample_index(chain: int, sent: Sequence[tuple[int, str]], key: str) -> int:
    """Return which draw of its prompt a request is.

    A chain that is audited sends a prompt again to see whether the answer is the same; that is
    another draw, which no journal may answer with the first.

    Args:
        chain: the chain's own sample index.
        sent: (step, prompt key) of the requests that the chain has made in this role.
        key: of the prompt to be sent.
    """
    return chain + sum(earlier == key for _, earlier in sent)


async def ask(
    engine: AnswersPrompts, request_id: str, prompt: Prompt, sampling: Sampling
) -> Answer:
    """Send one request and return its record: never an exception for an engine's failure."""
    asked_at, start = time.time(), time.perf_counter()
    answer = await engine.generate(request_id, prompt, sampling)
    seconds = time.perf_counter() - start
    return _record(request_id, prompt, answer, asked_at=asked_at, seconds=seconds)


def _record(
    request_id: str, prompt: Prompt, answer: EngineAnswer, *, asked_at: float, seconds: float
) -> Answer:
    done = answer if isinstance(answer, Completion) else None
    failed = None if isinstance(answer, Completion) else answer
    return Answer(
        request_id=request_id,
        prompt_key=prompt.key(),
        prompt=answer.rendered_prompt,
        text=done.text if done else None,
        prompt_tokens=done.prompt_tokens if done else None,
        completion_tokens=done.completion_tokens if done else None,
        finish_reason=done.finish_reason if done else None,
        logprob=done.logprob if done else None,
        attempts=answer.attempts,
        asked_at=asked_at,
        seconds=seconds,
        error_kind=failed.kind if failed else None,
        error_message=failed.message if failed else None,
    )
