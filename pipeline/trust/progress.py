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
