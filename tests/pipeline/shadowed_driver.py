"""A driver: prints where a worker finds our packages."""

import importlib
import json
import sys

import ray

from conf import ClusterConfig
from pipeline.cluster import PACKAGES, ray_cluster


def main() -> None:
    def found() -> dict[str, str]:
        return {name: str(importlib.import_module(name).__file__) for name in PACKAGES}

    config = ClusterConfig(num_cpus=1, object_store_mb=100, address=(sys.argv[1:] or [None])[0])
    with ray_cluster(config):
        print(json.dumps(ray.get(ray.remote(num_cpus=0)(found).remote())))


if __name__ == "__main__":
    main()
