"""When a chain may end early, as pure functions.

Greedy decoding makes an answer a function of its prompt. A chain whose next prompt equals one it
has already sent is therefore closed: every later step repeats, to infinity, and nothing needs to
be generated or run again. The paper's rule (equal neighbours; arXiv 2310.14053) is the case of
a cycle of length 1. What is compared is the exact prompt, so the real name in ``pl_0`` or
``nl_0``, which later steps never show, cannot close a chain that is not closed.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from conf import RunConfig
from pipeline.records import Answer, Execution, Generation, Outcome, Stop, StopReason


@dataclass(frozen=True)
class Closure:
    """The step whose prompt came back, and how many steps later."""

    start: int
    length: int

    @property
    def reason(self) -> StopReason:
        """``fixed_point`` for a cycle of one step, else ``cycle``."""
        return StopReason.FIXED_POINT if self.length == 1 else StopReason.CYCLE


def find_closure(sent: Sequence[tuple[int, str]], key: str, step: int) -> Closure | None:
    """Return the latest earlier step that sent this prompt, if there is one.

    Args:
        sent: (step, prompt key) of the requests of one role, made so far.
        key: key of the prompt that the same role would send next.
        step: the step that would send it.
    """
    for earlier, earlier_key in reversed(sent):
        if earlier_key == key:
            return Closure(start=earlier, length=step - earlier)
    return None


def allowed_closure(
    config: RunConfig, chain_id: str, sent: Sequence[tuple[int, str]], key: str, step: int
) -> Closure | None:
    """Return the closure at this prompt if the run stops at it: never at a temperature, nor in a
    chain that is audited.
    """
    if config.chain.sampling.temperature > 0 or is_audited(config, chain_id):
        return None
    closure = find_closure(sent, key, step)
    return closure if closure is not None and closure.reason in config.chain.stop else None


def is_audited(config: RunConfig, chain_id: str) -> bool:
    """Tell whether a chain runs on when it repeats itself; by lot, the same at every start."""
    digest = hashlib.sha256(f"audit/{config.seed}/{chain_id}".encode()).digest()
    return int.from_bytes(digest[:4], "big") < config.chain.audit * 2**32


def mismatched(outcomes: Iterable[Outcome]) -> bool:
    """Tell whether any test came out differently than one step before."""
    return any(outcome["matches_previous"] is False for outcome in outcomes)


def cut_off(generation: Generation | None, execution: Execution | None) -> bool:
    """Tell whether the token limit came before a program's end and left it unloadable."""
    return (
        generation is not None
        and generation["answer"] is not None
        and execution is not None
        and generation["answer"]["finish_reason"] == "length"
        and execution["load"] == "syntax"
    )


def failure_stop(answer: Answer, taken: str | None, *, step: int) -> Stop | None:
    """Return why a chain ends at an answer that failed or from which nothing could be taken.

    Args:
        answer: the answer.
        taken: the description or program found in it.
        step: the step that asked.
    """
    if answer["error_kind"] is not None:
        return make_stop(StopReason(answer["error_kind"]), step, message=answer["error_message"])
    if taken is not None:
        return None
    if answer["finish_reason"] == "length":
        return make_stop(StopReason.TRUNCATED, step, message="the token limit came first")
    return make_stop(StopReason.UNPARSABLE, step, message="nothing usable in the answer")


def make_stop(
    reason: StopReason, step: int, *, closure: Closure | None = None, message: str | None = None
) -> Stop:
    """Return the record of a chain's end."""
    return Stop(
        reason=reason.value,
        step=step,
        cycle_start=closure.start if closure else None,
        cycle_length=closure.length if closure else None,
        closing_comparable=None,
        closing_matching=None,
        message=message,
    )
