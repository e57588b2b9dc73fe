"""The engine: Ray Serve around vLLM, its client, and the model that comes with it."""

from serve.client import ClientSpec, EngineClient
from serve.deployment import (
    EngineHandle,
    Placement,
    app_name,
    leave_engine,
    placement_of,
    replica_states,
    start_engine,
    stop_engine,
)
from serve.messages import Answer, Completion, Failure, Message, Prompt, Sampling
from serve.models import ResolvedModel, model_of, resolve_model
from serve.probe import BatchProbe, probe_batches

__all__ = [
    "Answer",
    "BatchProbe",
    "ClientSpec",
    "Completion",
    "EngineClient",
    "EngineHandle",
    "Failure",
    "Message",
    "Placement",
    "Prompt",
    "ResolvedModel",
    "Sampling",
    "app_name",
    "leave_engine",
    "model_of",
    "placement_of",
    "probe_batches",
    "replica_states",
    "resolve_model",
    "start_engine",
    "stop_engine",
]
