"""The stages of the chain job, and how they line up in a round."""

from conf import ChainConfig
from pipeline.stages.advance import Advance
from pipeline.stages.base import Row, Stage, StageContext
from pipeline.stages.execute import Execute
from pipeline.stages.generate import Generate
from pipeline.stages.solution import TakeSolution
from pipeline.stages.summarize import Summarize

__all__ = [
    "Advance",
    "Execute",
    "Generate",
    "Row",
    "Stage",
    "StageContext",
    "Summarize",
    "TakeSolution",
    "round_stages",
]


def round_stages(step: int, config: ChainConfig) -> list[type[Stage]]:
    """Return the stages of one round, in order: step 0 has nothing to summarize."""
    if step > 0:
        return [Summarize, Generate, Execute, Advance]
    return [TakeSolution if config.start == "code" else Generate, Execute, Advance]
