"""What stages talk to: bounded, patient, and never the reason why a job dies."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from conf import RunConfig, most_in_flight
from serve.engine import Call, EngineUnavailable
from serve.messages import Answer, Failure, Prompt, Sampling

MAX_BACKOFF_S = 30.0
MESSAGE_CHARS = 500


@dataclass(frozen=True)
class ClientSpec:
    """Everything a process needs to reach a running engine; picklable."""

    app: str
    deployment: str
    max_in_flight: int
    attempts: int
    backoff_s: float
    request_timeout_s: float

    @classmethod
    def of(cls, app: str, deployment: str, config: RunConfig) -> "ClientSpec":
        """Return the spec of a client that behaves as configured."""
        serve = config.serve
        return cls(
            app=app,
            deployment=deployment,
            max_in_flight=most_in_flight(config),
            attempts=serve.attempts,
            backoff_s=serve.backoff_s,
            request_timeout_s=serve.request_timeout_s,
        )


class EngineClient:
    """Asks an engine, again if need be.

    A request that a replica lost, refused or did not answer in time is sent again after a pause;
    after the last try it becomes a Failure. Any other exception is a bug and propagates.

    Args:
        call: sends one request.
        spec: limits.
        transient: exceptions of ``call`` worth another try, besides time-out and
            EngineUnavailable.
        sleep: waits; takes seconds.
        jitter: returns a number in [0, 1).
    """

    def __init__(
        self,
        call: Call,
        spec: ClientSpec,
        *,
        transient: tuple[type[Exception], ...] = (),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._call = call
        self._spec = spec
        self._transient: tuple[type[Exception], ...] = (TimeoutError, EngineUnavailable, *transient)
        self._sleep = sleep
        self._jitter = jitter
        self._slots = asyncio.Semaphore(spec.max_in_flight)

    @classmethod
    def open(cls, spec: ClientSpec) -> "EngineClient":
        """Return a client of the running application that ``spec`` names."""
        from serve.handle import handle_call, transient_errors

        call = handle_call(spec.app, spec.deployment, spec.request_timeout_s)
        return cls(call, spec, transient=transient_errors())

    async def generate(self, request_id: str, prompt: Prompt, sampling: Sampling) -> Answer:
        """Return the engine's answer, or after all tries a Failure.

        Args:
            request_id: unique among requests in flight; later tries get a suffix.
            prompt: what to complete.
            sampling: how.
        """
        async with self._slots:
            return await self._try_all(request_id, prompt, sampling)

    async def _try_all(self, request_id: str, prompt: Prompt, sampling: Sampling) -> Answer:
        pause = self._spec.backoff_s
        for attempt in range(1, self._spec.attempts + 1):
            name = request_id if attempt == 1 else f"{request_id}#{attempt}"
            try:
                answer = await self._try_once(name, prompt, sampling)
            except self._transient as error:
                reason = _reason(error)
            else:
                return replace(answer, attempts=attempt)
            if attempt < self._spec.attempts:
                await self._sleep(min(pause, MAX_BACKOFF_S) * (0.5 + self._jitter()))
                pause *= 2
        return Failure("engine_error", reason, attempts=self._spec.attempts)

    async def _try_once(self, name: str, prompt: Prompt, sampling: Sampling) -> Answer:
        limit = self._spec.request_timeout_s
        try:
            return await asyncio.wait_for(self._call(name, prompt, sampling), limit)
        except TimeoutError as error:
            raise TimeoutError(f"no answer within {limit:g} s") from error


def _reason(error: Exception) -> str:
    """Return the last line of the message: Ray puts a remote traceback before it."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[-1].strip()}"[:MESSAGE_CHARS]
