"""The progress line of a trust run."""

from pipeline.board import Standing
from pipeline.progress import Progress


class TrustProgress(Progress):
    """Says how many problems have been sampled and checked."""

    def line(self, standing: Standing) -> str:
        """Return the text of the line."""
        done = self.already + self.finished.chains
        sampled = standing.steps_done[0] if self.plan.length else None
        parts = [f"problems checked {done}/{self.already + self.plan.chains}"]
        if sampled is not None:
            parts.append(f"sampled {self.already + sampled}")
            parts.append(f"{self._tokens_per_s(standing):.0f} tokens/s")
        return " | ".join(parts)

    def figures(self, standing: Standing) -> dict[str, float]:
        """Return what the line says, by name."""
        done: dict[str, float] = {
            "problems_checked": self.already + self.finished.chains,
            "problems": self.already + self.plan.chains,
        }
        if not self.plan.length:
            return done
        return {
            **done,
            "problems_sampled": self.already + standing.steps_done[0],
            "requests": standing.requests,
            "tokens": standing.tokens,
            "tokens_per_s": round(self._tokens_per_s(standing), 3),
        }
