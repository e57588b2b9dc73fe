"""Starting, finding and stopping the engine as a Ray Serve application."""

import hashlib
import json
import logging
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from conf import RunConfig, UserError
from serve.client import ClientSpec
from serve.engine import Facts
from serve.models import ResolvedModel, resolve_model
from serve.replica import EngineReplica, EngineStartError
from serve.vllm_args import check_arguments, replica_environment

DEPLOYMENT = "engine"
POLL_S = 0.25
HEALTH_TIMEOUT_S = 120.0
"""Long, because a busy machine may keep a healthy replica from answering for a while."""


@dataclass(frozen=True)
class EngineHandle:
    """A running engine."""

    spec: ClientSpec
    """How stages reach it."""
    model: ResolvedModel
    facts: Facts
    """What a replica says of itself, for the manifest."""
    reused: bool
    """Whether it was running before."""


def start_engine(config: RunConfig, log_dir: Path) -> EngineHandle:
    """Start the engine, or find one that runs with the same configuration, and wait for it.

    Ray must be initialised. There is no HTTP; only handles reach the engine.

    Args:
        config: model, engine and serve sections count.
        log_dir: existing folder for what the replicas print.

    Raises:
        UserError: the model or an engine argument is wrong, no replica could start (with the
            reason), or not all were ready within ``serve.start_timeout_s``.
    """
    check_arguments(config.engine.args)
    model = resolve_model(config.model)
    app = app_name(config, model)
    _start_serve()
    reused = _status(app) in ("RUNNING", "DEPLOYING")
    if not reused:
        _deploy(app, config, model, log_dir)
    _wait_until_ready(app, config.serve.start_timeout_s, log_dir)
    spec = ClientSpec.of(app, DEPLOYMENT, config.serve)
    return EngineHandle(spec, model, _ask_facts(app), reused)


def stop_engine(handle: EngineHandle) -> None:
    """Stop the application, also one that was running before; waits until it is gone."""
    from ray import serve as ray_serve

    ray_serve.delete(handle.spec.app)


def app_name(config: RunConfig, model: ResolvedModel) -> str:
    """Return a name that is equal if and only if the same engine would be started."""
    serve = {"backend": config.serve.backend}
    if config.serve.backend == "fake":
        serve["fake_tokens_per_s"] = str(config.serve.fake_tokens_per_s)
        serve["fake_batch_limit"] = str(config.serve.fake_batch_limit)
    parts = [asdict(model), asdict(config.model), asdict(config.engine), serve]
    text = json.dumps(parts, sort_keys=True, default=str)
    return f"holdtrue-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _start_serve() -> None:
    from ray import serve as ray_serve

    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    ray_serve.start(proxy_location="Disabled", logging_config=_quiet())


def _quiet() -> dict[str, Any]:
    return {"log_level": "WARNING", "enable_access_log": False}


def _deploy(app: str, config: RunConfig, model: ResolvedModel, log_dir: Path) -> None:
    from ray import serve as ray_serve
    from ray.serve.api import RunTarget

    deployment = ray_serve.deployment(EngineReplica).options(**deployment_options(config, model))
    target = RunTarget(deployment.bind(config, str(log_dir.resolve())), app, route_prefix=None)
    ray_serve.run_many([target], wait_for_applications_running=False)


def deployment_options(config: RunConfig, model: ResolvedModel) -> dict[str, Any]:
    """Return the options of the Ray Serve deployment: size, resources, limits."""
    engine = config.engine
    batch = engine.max_num_seqs
    if config.serve.backend == "fake":
        batch = config.serve.fake_batch_limit
    options: dict[str, Any] = {
        "name": DEPLOYMENT,
        "num_replicas": engine.replicas,
        # The next batch waits inside the replica; the rest in the callers, bounded by them.
        "max_ongoing_requests": 2 * batch + 8,
        "max_queued_requests": -1,
        "health_check_timeout_s": HEALTH_TIMEOUT_S,
        # A model that does not load will not load at the second try either.
        "max_constructor_retry_count": 1,
        "logging_config": _quiet(),
        "ray_actor_options": {
            "num_cpus": engine.cpus_per_replica,
            "num_gpus": engine.gpus_per_replica,
            "runtime_env": {"env_vars": _environment(config, model)},
        },
    }
    if engine.tensor_parallel_size > 1:
        # vLLM's own Ray actors, one a shard, take the GPUs of the replica's placement group.
        options["ray_actor_options"]["num_gpus"] = 0
        first = {"CPU": engine.cpus_per_replica, "GPU": 1}
        others = [{"GPU": 1}] * (engine.tensor_parallel_size - 1)
        options["placement_group_bundles"] = [first, *others]
        options["placement_group_strategy"] = "PACK"
    return options


def _environment(config: RunConfig, model: ResolvedModel) -> dict[str, str]:
    passed_on = {key: os.environ[key] for key in ("HOLDTRUE_CACHE",) if key in os.environ}
    if config.serve.backend == "fake":
        return passed_on
    return passed_on | replica_environment(model, config.engine)


def _wait_until_ready(app: str, timeout_s: float, log_dir: Path) -> None:
    from ray import serve as ray_serve

    deadline = time.monotonic() + timeout_s
    while (status := _status(app)) != "RUNNING":
        message = _messages(app)
        if status == "DEPLOY_FAILED" or EngineStartError.__name__ in message:
            ray_serve.delete(app)
            raise UserError(f"the engine did not start: {_reason(message)} (see {log_dir})")
        if time.monotonic() > deadline:
            ray_serve.delete(app)
            raise UserError(
                f"the engine was not ready within serve.start_timeout_s={timeout_s:g}:"
                f" {_reason(message)} (see {log_dir})"
            )
        time.sleep(POLL_S)


def _status(app: str) -> str | None:
    from ray import serve as ray_serve

    found = ray_serve.status().applications.get(app)
    return None if found is None else str(found.status.value)


def _messages(app: str) -> str:
    from ray import serve as ray_serve

    found = ray_serve.status().applications.get(app)
    if found is None:
        return ""
    return "\n".join([found.message, *(part.message for part in found.deployments.values())])


def _reason(message: str) -> str:
    """Return the replica's own words if it had any, else the last line."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    marker = f"{EngineStartError.__name__}: "
    told = [line.partition(marker)[2] for line in lines if marker in line]
    return (told or lines or ["no replica has said why"])[-1]


def _ask_facts(app: str) -> Facts:
    from ray import serve as ray_serve

    handle = ray_serve.get_deployment_handle(DEPLOYMENT, app_name=app)
    facts: Facts = handle.describe.remote().result()
    return facts
