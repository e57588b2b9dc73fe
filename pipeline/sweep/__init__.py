"""Many runs on the same engines: one for each combination of the values that are varied."""

from pipeline.sweep.describe import describe_sweep
from pipeline.sweep.sweep import is_sweep, sweep

__all__ = ["describe_sweep", "is_sweep", "sweep"]
