"""The stages of the chain job, and how they line up in a round."""

from conf import ChainConfig
from pipeline.stages.advance import Advance
from pipeline.stages.base import Row, Stage, StageContext
from pipeline.stages.execute import Execute
from pipeline.stages.generate import Generate
from pipeline.stages.resample import SampleAgain
from pipeline.stages.solution import TakeSolution
from pipeline.stages.summarize import Summarize

__all__ = [
    "Advance",
    "Execute",
    "Generate",
    "Row",
    "SampleAgain",
    "Stage",
    "StageContext",
    "Summarize",
    "TakeSolution",
    "last_stages",
    "round_stages",
]


def round_stages(step: int, config: ChainConfig) -> list[type[Stage]]:
    """Return the stages of one round, in order: step 0 has nothing to summarize."""
    if step > 0:
        return [Summarize, Generate, Execute, Advance]
    return [TakeSolution if config.start == "code" else Generate, Execute, Advance]


def last_stages(config: ChainConfig) -> list[type[Stage]]:
    """Return the stages of chains that have ended; most runs have none."""
    return [SampleAgain] if config.blame else []
