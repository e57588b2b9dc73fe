"""Joining or starting the Ray cluster."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

import ray

from conf import ClusterConfig, UserError


@contextmanager
def ray_cluster(config: ClusterConfig) -> Iterator[float]:
    """Join the cluster, or start a local one, and yield its CPUs as Ray counts them.

    A cluster that was running before is left running, its Serve applications too; a local one is
    shut down. A process that is already connected stays as it is.

    Raises:
        UserError: no cluster answers at the address, or a local one does not start.
    """
    joined = ray.is_initialized()
    address = config.address or os.environ.get("RAY_ADDRESS")
    if not joined:
        _connect(config, address)
    try:
        yield float(ray.cluster_resources().get("CPU", 0.0))
    finally:
        if not joined:
            ray.shutdown()


def _connect(config: ClusterConfig, address: str | None) -> None:
    os.environ.setdefault("RAY_raylet_start_wait_time_s", str(int(config.start_timeout_s)))
    os.environ.setdefault("RAY_SERVE_LOG_TO_STDERR", "0")
    try:
        if address:
            ray.init(address=address, logging_level=logging.ERROR)
        else:
            ray.init(
                num_cpus=config.num_cpus,
                object_store_memory=config.object_store_mb * 2**20,
                include_dashboard=False,
                logging_level=logging.ERROR,
            )
    except (ConnectionError, TimeoutError) as error:
        where = f"no Ray cluster answers at {address}" if address else "Ray did not start here"
        raise UserError(f"{where}: {error}; check cluster.address or RAY_ADDRESS") from error
