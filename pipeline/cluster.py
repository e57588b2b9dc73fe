"""Joining or starting the Ray cluster, and how our code gets to its workers: decided here alone.

Ray puts the driver's current folder before everything else on the path of each worker, before
PYTHONPATH and installed packages too. A user's own folder ``conf/`` or ``serve/`` would then be
imported there instead of ours, so every worker of ours starts without that entry. Our code is:

- on a cluster started here, where this process found it;
- on a cluster that is joined, shipped by Ray (``cluster.code=shipped``), the same on every node;
- or what each node has installed (``cluster.code=installed``), compared before anything starts.
"""

import hashlib
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import ray
from ray.job_config import JobConfig
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from conf import ClusterConfig, UserError
from pipeline.desk import SHARED_KEEPER

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("conf", "pipeline", "serve", "sandbox", "analysis")
POLL_S = 0.5


class _OwnPath(JobConfig):  # type: ignore[misc]
    """A job whose workers do not search the driver's current folder for modules."""

    def _runtime_env_has_working_dir(self) -> bool:
        # This is what Ray asks before it adds that folder.
        return True


@contextmanager
def ray_cluster(config: ClusterConfig) -> Iterator[float]:
    """Join the cluster, or start a local one, and yield its CPUs as Ray counts them.

    A cluster that was running before is left running, its Serve applications too; a local one is
    shut down. A process that is already connected stays as it is.

    Raises:
        UserError: no cluster answers at the address, a local one does not start, nodes are
            missing, or a node has other code.
    """
    joined = ray.is_initialized()
    address = _address(config)
    if not joined:
        _connect(config, address)
    try:
        if not joined:
            _wait_for_nodes(config)
            if address and config.code == "installed":
                _compare_code(config)
        yield float(ray.cluster_resources().get("CPU", 0.0))
    finally:
        if not joined:
            ray.shutdown()


def outlives_driver(config: ClusterConfig) -> bool:
    """Tell whether what this driver leaves on its cluster would stay there.

    A point of a sweep leaves nothing: its engines are those of the sweep, which outlives it.
    """
    return bool(_address(config)) and SHARED_KEEPER not in os.environ


def job_config(config: ClusterConfig, *, joins: bool) -> JobConfig:
    """Return what Ray is told about our code.

    Args:
        config: says how the code reaches the nodes of a cluster that is joined.
        joins: whether the cluster was running before.
    """
    if not joins:
        return _OwnPath(_py_driver_sys_path=[str(ROOT)])
    job = _OwnPath()
    if config.code == "shipped":
        modules = [str(ROOT / package) for package in PACKAGES]
        job.set_runtime_env({"py_modules": modules, "excludes": ["__pycache__"]})
    return job


def node_gpus() -> list[float]:
    """Return the number of GPUs of each node of the connected cluster."""
    return [float(node["Resources"].get("GPU", 0)) for node in _nodes()]


@cache
def code_digest() -> str:
    """Return a digest of our packages' files as this process imports them."""
    found = hashlib.sha256()
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*")):
            if path.suffix in (".py", ".yaml"):
                found.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


def _address(config: ClusterConfig) -> str | None:
    return config.address or os.environ.get("RAY_ADDRESS")


def _connect(config: ClusterConfig, address: str | None) -> None:
    os.environ.setdefault("RAY_raylet_start_wait_time_s", str(int(config.start_timeout_s)))
    os.environ.setdefault("RAY_SERVE_LOG_TO_STDERR", "0")
    job = job_config(config, joins=bool(address))
    try:
        if address:
            ray.init(address=address, job_config=job, logging_level=logging.ERROR)
        else:
            ray.init(
                # Without a word Ray would join whatever cluster was last started on this machine.
                address="local",
                num_cpus=config.num_cpus,
                object_store_memory=config.object_store_mb * 2**20,
                include_dashboard=False,
                job_config=job,
                logging_level=logging.ERROR,
            )
    except Exception as error:
        if not _is_no_cluster(error):
            raise
        where = f"no Ray cluster answers at {address}" if address else "Ray did not start here"
        reason = str(error).strip().splitlines()[0]
        raise UserError(
            f"{where}: {reason}; check cluster.address or RAY_ADDRESS, and the token"
            if address
            else f"{where}: {reason}"
        ) from error


def _is_no_cluster(error: Exception) -> bool:
    """Tell whether Ray says that there is none; for a slow start it has no type of its own."""
    known = (ConnectionError, TimeoutError, ray.exceptions.AuthenticationError)
    return isinstance(error, known) or "timed out during startup" in str(error)


def _wait_for_nodes(config: ClusterConfig) -> None:
    deadline = time.monotonic() + config.start_timeout_s
    while (found := len(_nodes())) < config.nodes:
        if time.monotonic() > deadline:
            raise UserError(
                f"{found} of cluster.nodes={config.nodes} nodes joined the cluster within "
                f"cluster.start_timeout_s={config.start_timeout_s:g}; see the log of the others"
            )
        time.sleep(POLL_S)


def _nodes() -> list[dict[str, Any]]:
    return [node for node in ray.nodes() if node["Alive"]]


def _compare_code(config: ClusterConfig) -> None:
    """Ask every node what it would import."""

    # Defined here, it travels as a value: a node without our code can still run it.
    def digest() -> str:
        from pipeline.cluster import code_digest

        return code_digest()

    task = ray.remote(num_cpus=0, max_retries=0)(digest)
    asked = {
        node["NodeManagerAddress"]: task.options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        ).remote()
        for node in _nodes()
    }
    for address, answer in asked.items():
        try:
            found = ray.get(answer, timeout=config.start_timeout_s)
        except ray.exceptions.RayTaskError as error:
            raise UserError(_other_code(address, "no Holdtrue")) from error
        if found != code_digest():
            raise UserError(_other_code(address, "another Holdtrue"))


def _other_code(address: str, what: str) -> str:
    return (
        f"node {address} has {what} installed; install there what is installed here, or let Ray "
        f"ship it with cluster.code=shipped"
    )
