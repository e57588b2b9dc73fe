"""Which chains may start under a budget, so that those that start can also end within it.

All chains of a run would otherwise be half made when the budget is spent, and those that had ended
would be the short ones. The first few chains start at once and show what a chain costs; later ones
start as long as all that have started can be paid for. What ends is then what was started, short
chains and long: a fair sample, because chains start in an order that knows nothing of their ends.

The estimate may be wrong, so the hard limit stays with whoever counts what is paid.
"""

from collections.abc import Callable, Sequence
from enum import Enum

FIRST = 8
"""Chains that start before anything is known of their cost."""


class Verdict(Enum):
    """Whether chains may start."""

    NOW = "they may start"
    LATER = "ask again when a chain has ended"
    NEVER = "the budget does not suffice"


class Admission:
    """Admits the chains of one start of a run. Pure but for the clock.

    Args:
        spent: tokens that the run has paid for before.
        token_limit: tokens that it may pay for in all; null: any number.
        ends_at: when the clock ends it; null: never.
        clock: seconds.
    """

    def __init__(
        self,
        *,
        spent: int,
        token_limit: int | None,
        ends_at: float | None,
        clock: Callable[[], float],
    ) -> None:
        self._spent = spent
        self._token_limit = token_limit
        self._ends_at = ends_at
        self._clock = clock
        self._open: dict[str, float] = {}
        self._first: set[str] = set()
        self._ended = 0
        self._tokens = 0
        self._seconds = 0.0
        self._shut = False

    def admit(self, chains: Sequence[str], spent: int) -> Verdict:
        """Let chains start together, or say why not; one that has started may do so again.

        Args:
            chains: their ids.
            spent: tokens that the run has paid for by now.
        """
        new = [chain for chain in chains if chain not in self._open]
        verdict = self._judge(len(new), spent)
        if verdict is Verdict.NOW:
            now = self._clock()
            self._open.update((chain, now) for chain in new)
            if not self._ended and len(self._first) < FIRST:
                self._first.update(new)
        return verdict

    def leave(self, chain: str, tokens: int | None) -> None:
        """Note that a chain has ended, at this cost, or was suspended (null)."""
        since = self._open.pop(chain, None)
        self._first.discard(chain)
        if tokens is None:
            self._shut = True
        elif since is not None:
            self._ended += 1
            self._tokens += tokens
            self._seconds += self._clock() - since

    def _judge(self, new: int, spent: int) -> Verdict:
        if not new:
            return Verdict.NOW
        if self._shut:
            return Verdict.NEVER
        if not self._open and not self._ended:
            return Verdict.NOW
        if self._first:
            is_room = not self._ended and len(self._first) + new <= FIRST
            return Verdict.NOW if is_room else Verdict.LATER
        if self._can_afford(new, spent):
            return Verdict.NOW
        return Verdict.LATER if self._open else Verdict.NEVER

    def _can_afford(self, new: int, spent: int) -> bool:
        tokens, seconds = self._tokens / self._ended, self._seconds / self._ended
        if self._ends_at is not None and self._clock() + seconds > self._ends_at:
            return False
        if self._token_limit is None:
            return True
        # Chains that share answers cost less than they hold; what open ones have paid counts twice
        # in the second. Both are more than will be spent.
        so_far = min(self._spent + self._tokens, spent)
        return so_far + (len(self._open) + new) * tokens <= self._token_limit
