"""What a replica needs of an engine."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

from serve.messages import Answer, Prompt, Sampling

Call: TypeAlias = Callable[[str, Prompt, Sampling], Awaitable[Answer]]
"""Sends one named request to some engine; cancelling it gives the request up."""

Facts: TypeAlias = dict[str, str | int | float | bool | None]
"""What an engine says of itself, for the run's manifest."""


class EngineUnavailable(Exception):
    """This request failed through no fault of its own; another try may succeed."""


class EngineDead(EngineUnavailable):
    """The engine answers nothing any more; its process has to be replaced."""


class Engine(Protocol):
    """Turns prompts into answers, many at a time."""

    async def generate(self, request_id: str, prompt: Prompt, sampling: Sampling) -> Answer:
        """Return a completion, or the reason why this prompt can have none.

        Cancelling the call gives up the request.

        Raises:
            EngineUnavailable: worth another try.
        """
        ...

    async def check_health(self) -> None:
        """Raise if the engine cannot answer any more."""
        ...

    def describe(self) -> Facts:
        """Return versions, device and limits."""
        ...
