"""vLLM's engine arguments and environment, from our configuration. Does not import vLLM."""

import ast
import difflib
import importlib.util
import os
from functools import cache
from pathlib import Path
from typing import Any

from conf import EngineConfig, ModelConfig, UserError
from serve.models import ResolvedModel

TYPED = {
    "model": "model.path",
    "revision": "model.revision",
    "trust_remote_code": "model.trust_remote_code",
    "dtype": "model.dtype",
    "max_model_len": "model.max_model_len",
    "tensor_parallel_size": "engine.tensor_parallel_size",
    "max_num_seqs": "engine.max_num_seqs",
    "enforce_eager": "engine.enforce_eager",
    "enable_prefix_caching": "engine.enable_prefix_caching",
    "gpu_memory_utilization": "engine.gpu_memory_utilization",
    "seed": "engine.seed",
}
"""Engine arguments that have a configuration key of their own."""
LEAST_BATCHED_TOKENS = 2048
"""Tokens that one step reads at most, where the model's context is not longer."""


def engine_arguments(
    model: ModelConfig, resolved: ResolvedModel, engine: EngineConfig
) -> dict[str, Any]:
    """Return the keyword arguments of vLLM's ``AsyncEngineArgs``."""
    arguments: dict[str, Any] = {
        "model": resolved.path,
        "revision": resolved.revision,
        "tokenizer_revision": resolved.revision,
        "trust_remote_code": model.trust_remote_code,
        "dtype": model.dtype,
        "max_model_len": model.max_model_len,
        "tensor_parallel_size": engine.tensor_parallel_size,
        "max_num_seqs": engine.max_num_seqs,
        "enforce_eager": engine.enforce_eager,
        "enable_prefix_caching": engine.enable_prefix_caching,
        "gpu_memory_utilization": engine.gpu_memory_utilization,
        "seed": engine.seed,
        "disable_log_stats": True,
    }
    if _on_cpu(engine):
        # vLLM rewinds the random numbers of a seeded request whose prompt it cut in two, which no
        # CPU generator can: the engine would die of it. So prompts are read whole.
        arguments["enable_chunked_prefill"] = False
        arguments["max_num_batched_tokens"] = max(model.max_model_len, LEAST_BATCHED_TOKENS)
    if engine.tensor_parallel_size > 1:
        # The shards are Ray actors in the replica's placement group.
        arguments["distributed_executor_backend"] = "ray"
    return arguments | engine.args


def check_arguments(args: dict[str, Any]) -> None:
    """Check the names in ``engine.args`` before anything starts.

    Raises:
        UserError: vLLM knows no such argument, or it has a key of its own in our configuration.
    """
    known = _known_arguments()
    for name in args:
        if name in TYPED:
            raise UserError(f"engine.args.{name}: set {TYPED[name]} instead")
        if known and name not in known:
            near = difflib.get_close_matches(name, known, n=3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise UserError(f"engine.args.{name}: vLLM has no such engine argument{hint}")


def check_sharing(engine: EngineConfig) -> None:
    """Check that replicas which share a GPU leave room for each other.

    Raises:
        UserError: one replica would take more of the GPU than its share.
    """
    share = engine.gpus_per_replica
    if 0 < share < engine.gpu_memory_utilization:
        raise UserError(
            f"engine.gpus_per_replica={share:g} shares a GPU, so engine.gpu_memory_utilization"
            f" may be at most that, got {engine.gpu_memory_utilization:g}"
        )


def replica_environment(model: ResolvedModel, engine: EngineConfig) -> dict[str, str]:
    """Return the environment variables that a replica's process is started with."""
    environment = {"VLLM_NO_USAGE_STATS": "1", "TOKENIZERS_PARALLELISM": "false"}
    if model.source != "hub":
        environment["HF_HUB_OFFLINE"] = "1"
    if _on_cpu(engine):
        environment |= {
            "VLLM_CPU_KVCACHE_SPACE": str(engine.kv_cache_gib),
            # Threads that spin at barriers burn the time of the very thread they wait for as soon
            # as anything else runs on the machine.
            "OMP_WAIT_POLICY": "passive",
            # One process less to start and to feed: the engine's core runs the model itself.
            "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        }
    return environment | {name: str(value) for name, value in engine.env.items()}


def node_environment(engine: EngineConfig) -> dict[str, str]:
    """Return what a replica must set by itself before it imports vLLM: it depends on its node."""
    if not _on_cpu(engine) or "OMP_NUM_THREADS" in engine.env:
        return {}
    return {"OMP_NUM_THREADS": str(engine.cpu_threads or usable_cores())}


def usable_cores(quota: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """Return the cores this process may use: its affinity, and no more than its cgroup's quota.

    Args:
        quota: file of cgroup v2: microseconds of a period or ``max``, then the period.
    """
    cores = len(os.sched_getaffinity(0))
    if quota.is_file():
        allowed, period = quota.read_text(encoding="ascii").split()
        if allowed != "max":
            return max(1, min(cores, round(int(allowed) / int(period))))
    return cores


def _on_cpu(engine: EngineConfig) -> bool:
    return engine.gpus_per_replica == 0 and engine.tensor_parallel_size == 1


@cache
def _known_arguments() -> tuple[str, ...]:
    """Read the names from vLLM's source: importing it takes many seconds on a driver.

    Empty where vLLM is not installed, as on a driver beside a GPU cluster; a wrong name then
    fails in the replica.
    """
    spec = importlib.util.find_spec("vllm")
    if spec is None or not spec.submodule_search_locations:
        return ()
    source = Path(spec.submodule_search_locations[0]) / "engine" / "arg_utils.py"
    classes = [
        node
        for node in ast.parse(source.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and node.name in ("EngineArgs", "AsyncEngineArgs")
    ]
    return tuple(
        item.target.id
        for node in classes
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    )
