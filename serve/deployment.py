"""Starting, finding and stopping the engine as a Ray Serve application."""

import hashlib
import json
import logging
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conf import RunConfig, UserError
from serve.client import ClientSpec
from serve.engine import Facts
from serve.models import ResolvedModel, model_of
from serve.replica import EngineReplica, EngineStartError
from serve.vllm_args import check_arguments, check_sharing, replica_environment

if TYPE_CHECKING:
    from serve.lease import Lease

DEPLOYMENT = "engine"
POLL_S = 0.25
FACTS_TIMEOUT_S = 120.0
HEALTH_TIMEOUT_S = 120.0
"""Long, because a busy machine may keep a healthy replica from answering for a while."""
SHUTDOWN_S = 5.0
"""What is in flight when the engine is stopped belongs to nobody any more."""


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
    lease: "Lease | None" = None
    """Where other drivers may use it too: this one's right to it."""


def start_engine(config: RunConfig, log_dir: Path, *, joined: bool = False) -> EngineHandle:
    """Start the engine, or find one that runs with the same configuration, and wait for it.

    Ray must be initialised, and no event loop may run in this thread. There is no HTTP; only
    handles reach the engine.

    Args:
        config: model, engine and serve sections count.
        log_dir: existing folder for what the replicas print.
        joined: whether the cluster outlives this driver.

    Raises:
        UserError: the model or an engine argument is wrong, no replica could start (with the
            reason), or not all were ready within ``serve.start_timeout_s``.
    """
    from ray import serve as ray_serve

    from serve.lease import take_lease

    check_arguments(config.engine.args)
    check_sharing(config.engine)
    model = model_of(config)
    app = app_name(config, model)
    _start_serve()
    lease = take_lease(app, grace_s=config.cluster.engine_grace_s, joined=joined)
    reused = _status(app) in ("RUNNING", "DEPLOYING")
    try:
        if not reused:
            if lease:
                lease.start()
            _deploy(app, config, model, log_dir)
        _wait_until_ready(app, config, log_dir)
        facts = _ask_facts(app)
        _check_template(config, facts)
    except BaseException:
        if not reused:
            ray_serve.delete(app)
        if lease:
            lease.end()
        raise
    return EngineHandle(ClientSpec.of(app, DEPLOYMENT, config), model, facts, reused, lease)


def stop_engine(handle: EngineHandle) -> None:
    """Stop the application, also one that was running before; waits until it is gone."""
    from ray import serve as ray_serve

    ray_serve.delete(handle.spec.app)


def leave_engine(handle: EngineHandle) -> None:
    """Need it no more: it is stopped if nobody else uses it, and was not running before."""
    if handle.lease:
        handle.lease.end()
    elif not handle.reused:
        stop_engine(handle)


def replica_states(spec: ClientSpec) -> dict[str, int]:
    """Return how many of an engine's replicas are in which state, by Ray Serve's names for it."""
    from ray import serve as ray_serve

    found = ray_serve.status().applications.get(spec.app)
    states = found.deployments[spec.deployment].replica_states if found else {}
    return {str(getattr(state, "value", state)): count for state, count in states.items()}


def app_name(config: RunConfig, model: ResolvedModel) -> str:
    """Return a name that is equal if and only if the same engine would be started."""
    parts: list[Any] = [model.path, model.identity, config.model.max_model_len, config.engine]
    if config.serve.backend == "fake":
        parts += [
            config.serve.fake_tokens_per_s,
            config.serve.fake_batch_limit,
            config.serve.fake_log,
        ]
    else:
        parts += [config.model.dtype, config.model.trust_remote_code, config.model.chat_template]
    text = json.dumps([config.serve.backend, *parts], sort_keys=True, default=asdict)
    return f"holdtrue-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def deployment_options(config: RunConfig, model: ResolvedModel) -> dict[str, Any]:
    """Return the options of the Ray Serve deployment: size, resources, limits."""
    engine, fake = config.engine, config.serve.backend == "fake"
    environment = {} if fake else replica_environment(model, engine)
    batch = config.serve.fake_batch_limit if fake else engine.max_num_seqs
    options: dict[str, Any] = {
        "name": DEPLOYMENT,
        "num_replicas": engine.replicas,
        # Calls of up to so many requests: callers bound what they ask, the rest waits in them.
        "max_ongoing_requests": 2 * batch + 8,
        "max_queued_requests": -1,
        "health_check_timeout_s": HEALTH_TIMEOUT_S,
        "graceful_shutdown_timeout_s": SHUTDOWN_S,
        "logging_config": _quiet(),
        "ray_actor_options": {
            "num_cpus": engine.cpus_per_replica,
            "num_gpus": 0 if fake else engine.gpus_per_replica,
            "runtime_env": {"env_vars": _passed_on() | environment},
        },
    }
    placement = placement_of(config)
    return _sharded(options, placement) if placement else options


@dataclass(frozen=True)
class Placement:
    """The placement group of one replica."""

    bundles: list[dict[str, float]]
    """One a shard; the replica itself stands in the first."""
    strategy: str
    """STRICT_PACK keeps the shards on one node, PACK lets them span nodes."""


def placement_of(config: RunConfig) -> Placement | None:
    """Return how the shards of one replica are placed; None where it is not sharded."""
    engine = config.engine
    if config.serve.backend == "fake" or engine.tensor_parallel_size == 1:
        return None
    first: dict[str, float] = {"CPU": engine.cpus_per_replica, "GPU": 1}
    others: list[dict[str, float]] = [{"GPU": 1}] * (engine.tensor_parallel_size - 1)
    return Placement([first, *others], "PACK" if engine.across_nodes else "STRICT_PACK")


def _sharded(options: dict[str, Any], placement: Placement) -> dict[str, Any]:
    """Give the GPUs to the replica's placement group: vLLM's actors, one a shard, take them."""
    return options | {
        "ray_actor_options": options["ray_actor_options"] | {"num_gpus": 0},
        "placement_group_bundles": placement.bundles,
        "placement_group_strategy": placement.strategy,
    }


def _passed_on() -> dict[str, str]:
    names = ("HOLDTRUE_CACHE", "XDG_CACHE_HOME", "HF_HOME", "HF_TOKEN", "HF_HUB_OFFLINE")
    return {name: os.environ[name] for name in names if name in os.environ}


def _quiet() -> dict[str, Any]:
    return {"log_level": "WARNING", "enable_access_log": False}


def _start_serve() -> None:
    from ray import serve as ray_serve

    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    ray_serve.start(proxy_location="Disabled", logging_config=_quiet())


def _deploy(app: str, config: RunConfig, model: ResolvedModel, log_dir: Path) -> None:
    from ray import serve as ray_serve
    from ray.serve.api import RunTarget

    deployment = ray_serve.deployment(EngineReplica).options(**deployment_options(config, model))
    bound = deployment.bind(config, model, str(log_dir.resolve()))
    ray_serve.run_many(
        [RunTarget(bound, app, route_prefix=None)], wait_for_applications_running=False
    )


def _wait_until_ready(app: str, config: RunConfig, log_dir: Path) -> None:
    timeout_s = config.serve.start_timeout_s
    deadline = time.monotonic() + timeout_s
    while (status := _status(app)) != "RUNNING":
        told = replicas_words(_messages(app))
        # A model that does not load will not load at the next try; a lost process may.
        if status == "DEPLOY_FAILED" or told.failed:
            raise UserError(f"the engine did not start: {told.reason} (its output: {log_dir})")
        if time.monotonic() > deadline:
            raise UserError(
                f"the engine was not ready within serve.start_timeout_s={timeout_s:g}:"
                f" {told.reason or _asked_for(config)} (its output: {log_dir})"
            )
        time.sleep(POLL_S)


@dataclass(frozen=True)
class ReplicasWords:
    """Why replicas do not start, as far as is known."""

    failed: bool
    """Whether a replica itself gave the reason."""
    reason: str


def replicas_words(message: str) -> ReplicasWords:
    """Find the reason in a status message of Ray Serve, which holds a remote traceback."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    marker = f"{EngineStartError.__name__}: "
    told = [line.partition(marker)[2] for line in lines if marker in line]
    return ReplicasWords(bool(told), (told or lines or [""])[-1])


def _asked_for(config: RunConfig) -> str:
    import ray

    have = ray.cluster_resources()
    engine = config.engine
    gpus = engine.tensor_parallel_size if engine.tensor_parallel_size > 1 else None
    return (
        f"each of {engine.replicas} replicas asks for {engine.cpus_per_replica:g} CPUs and"
        f" {gpus or engine.gpus_per_replica:g} GPUs; the cluster has {have.get('CPU', 0):g} CPUs"
        f" and {have.get('GPU', 0):g} GPUs, shared with everything else"
    )


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


def _ask_facts(app: str) -> Facts:
    from ray import serve as ray_serve

    handle = ray_serve.get_deployment_handle(DEPLOYMENT, app_name=app)
    facts: Facts = handle.describe.remote().result(timeout_s=FACTS_TIMEOUT_S)
    return facts


def _check_template(config: RunConfig, facts: Facts) -> None:
    if config.prompt.style == "chat" and not facts["chat_template"]:
        raise UserError(
            f"model.path={config.model.path} has no chat template;"
            " choose a prompt set of style 'completion'"
        )
