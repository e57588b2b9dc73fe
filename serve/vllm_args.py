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


def replica_environment(model: ResolvedModel, engine: EngineConfig) -> dict[str, str]:
    """Return the environment variables that must be set before vLLM is imported."""
    environment = {"VLLM_NO_USAGE_STATS": "1", "TOKENIZERS_PARALLELISM": "false"}
    if model.source != "hub":
        environment["HF_HUB_OFFLINE"] = "1"
    if engine.gpus_per_replica == 0 and engine.tensor_parallel_size == 1:
        environment |= _cpu_environment(engine)
    return environment | {name: str(value) for name, value in engine.env.items()}


def _cpu_environment(engine: EngineConfig) -> dict[str, str]:
    threads = engine.cpu_threads or len(os.sched_getaffinity(0))
    return {
        "VLLM_CPU_KVCACHE_SPACE": str(engine.kv_cache_gib),
        "OMP_NUM_THREADS": str(threads),
        # Threads that spin at barriers burn the time slice of the very thread they wait for as soon
        # as anything else runs on the machine.
        "OMP_WAIT_POLICY": "passive",
        # One process less to start and to feed: the engine's core runs the model itself.
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    }


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
