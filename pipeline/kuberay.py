"""The ``kuberay`` command: prints a RayJob for ``kubectl apply -f -``."""

import copy
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

import conf
from conf import UserError
from pipeline.launching import split_words

TEMPLATE = Path(conf.__file__).parent / "cluster" / "kuberay.yaml"


@dataclass(frozen=True)
class KubeRayOptions:
    """What of the RayJob is filled in, given as ``kuberay.KEY=VALUE``."""

    image: str = ""
    """Image with Holdtrue and its environment installed; needed."""
    workers: int = 1
    """Worker pods, beside the head."""
    gpus_per_worker: int = 1
    """GPUs of each worker pod."""
    cpus_per_worker: int = 8
    """CPUs of each pod."""
    memory: str = "64Gi"
    """Memory of each pod."""
    claim: str = "holdtrue-runs"
    """Persistent volume claim with the run folders, mounted at /runs in every pod."""
    namespace: str = "default"
    """Kubernetes namespace."""
    name: str = "holdtrue"
    """Name of the RayJob."""


def kuberay(words: Sequence[str]) -> int:
    """Print the RayJob of a run.

    Raises:
        UserError: a word is wrong.
    """
    options, rest = split_words("kuberay", KubeRayOptions(), words)
    if not options.image:
        raise UserError("kuberay: needs kuberay.image=IMAGE, with Holdtrue installed in it")
    template = yaml.safe_load(TEMPLATE.read_text(encoding="utf-8"))
    print(yaml.safe_dump(ray_job(template, options, rest.arguments), sort_keys=False), end="")
    return 0


def ray_job(
    template: dict[str, Any], options: KubeRayOptions, arguments: Sequence[str]
) -> dict[str, Any]:
    """Fill in a RayJob.

    Args:
        template: as in conf/cluster/kuberay.yaml.
        options: what to fill in.
        arguments: command and keys that run on it.
    """
    job = copy.deepcopy(template)
    fixed = [f"cluster.nodes={options.workers + 1}", "cluster.code=installed"]
    places = [] if any(word.startswith("runs_dir=") for word in arguments) else ["runs_dir=/runs"]
    job["metadata"] |= {"name": options.name, "namespace": options.namespace}
    job["spec"]["entrypoint"] = shlex.join(["holdtrue", *arguments, *places, *fixed])
    cluster = job["spec"]["rayClusterSpec"]
    (workers,) = cluster["workerGroupSpecs"]
    workers |= dict.fromkeys(("replicas", "minReplicas", "maxReplicas"), options.workers)
    _fill_pod(cluster["headGroupSpec"], options, gpus=0)
    _fill_pod(workers, options, gpus=options.gpus_per_worker)
    return job


def _fill_pod(group: dict[str, Any], options: KubeRayOptions, *, gpus: int) -> None:
    pod = group["template"]["spec"]
    (container,) = pod["containers"]
    container["image"] = options.image
    amount: dict[str, Any] = {"cpu": str(options.cpus_per_worker), "memory": options.memory}
    if gpus:
        amount["nvidia.com/gpu"] = str(gpus)
    container["resources"] = {"limits": amount, "requests": dict(amount)}
    pod["volumes"][0]["persistentVolumeClaim"]["claimName"] = options.claim
