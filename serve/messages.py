"""What travels between a stage and an engine. Plain values, picklable, no Ray, no vLLM."""

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

_KEPT = 4096
"""Prompts whose digests are at hand: each is asked for several times while its request lasts."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """Either a conversation, rendered by the model's own template, or raw text."""

    messages: tuple[Message, ...] = ()
    text: str | None = None

    def __post_init__(self) -> None:
        if bool(self.messages) == (self.text is not None):
            raise ValueError("a prompt has either messages or text")

    def to_json(self) -> str:
        """Return the canonical text that identifies this prompt."""
        # By hand: dataclasses.asdict copies deeply and takes ten times as long.
        turns = [{"role": turn.role, "content": turn.content} for turn in self.messages]
        return _canonical({"messages": turns, "text": self.text})

    def key(self) -> str:
        """Return a digest of the prompt: 32 hexadecimal digits."""
        return _digest(self)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How one completion is sampled; ``temperature`` 0 is greedy."""

    max_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    stop: tuple[str, ...] = ()
    seed: int | None = None
    sample: int = 0
    """Which draw of the same prompt and parameters this is; no engine looks at it."""

    def to_json(self) -> str:
        """Return the canonical text that identifies the parameters, the sample index apart."""
        names = (name for name in self.__match_args__ if name != "sample")
        return _canonical({name: getattr(self, name) for name in names})


@dataclass(frozen=True, slots=True)
class Completion:
    """An engine's answer."""

    text: str
    rendered_prompt: str
    """The exact text the engine tokenised."""
    prompt_tokens: int
    completion_tokens: int
    finish_reason: str
    """``stop``, ``length`` or ``abort``."""
    logprob: float | None
    """Sum of the sampled tokens' log-probabilities (natural logarithm)."""
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no completion: data, not an exception."""

    kind: str
    """``prompt_too_long`` (never retried), ``engine_error``, or ``not_recorded`` (in a replay)."""
    message: str
    attempts: int = 1
    rendered_prompt: str = ""


Answer: TypeAlias = Completion | Failure


@lru_cache(_KEPT)
def _digest(prompt: Prompt) -> str:
    return hashlib.sha256(prompt.to_json().encode()).hexdigest()[:32]


def _canonical(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
