"""Where a run's figures go while it runs and at its end."""

from pipeline.tracking.tracking import Result, Tracking, tracked

__all__ = ["Result", "Tracking", "tracked"]
