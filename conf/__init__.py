"""Typed configuration and the error types every room shares."""

from conf.capacity import batch_size, most_in_flight
from conf.errors import HoldtrueError, UserError
from conf.machine_schema import ClusterConfig, EngineConfig, SandboxConfig, ServeConfig
from conf.schema import (
    BudgetConfig,
    ChainConfig,
    DatasetConfig,
    DescriberConfig,
    ExampleConfig,
    ModelConfig,
    PromptConfig,
    RunConfig,
    SamplingConfig,
    TrackingConfig,
)
from conf.trust_schema import CodetConfig, TrustConfig

__all__ = [
    "BudgetConfig",
    "ChainConfig",
    "ClusterConfig",
    "CodetConfig",
    "DatasetConfig",
    "DescriberConfig",
    "EngineConfig",
    "ExampleConfig",
    "HoldtrueError",
    "ModelConfig",
    "PromptConfig",
    "RunConfig",
    "SamplingConfig",
    "SandboxConfig",
    "ServeConfig",
    "TrackingConfig",
    "TrustConfig",
    "UserError",
    "batch_size",
    "most_in_flight",
]
