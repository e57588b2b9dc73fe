"""A run as one of Weights & Biases. The only file that knows wandb.

A run keeps its W&B id in its folder, so that every start of it continues the same W&B run. What
wandb writes lies in the folder too, under ``wandb/``.
"""

import importlib.util
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from conf import TrackingConfig, UserError
from pipeline.tracking.figures import score_figures, step_figures, told_config
from pipeline.tracking.parcel import pack

ID_FILE = "tracking.json"
MOST_TABLE_ROWS = 2000
_NUMBERS_OF_BROKEN = (
    "chain_id",
    "problem_id",
    "sample",
    "from_step",
    "to_step",
    "reason",
    "differing",
    "comparable",
    "test_id",
    "before_kind",
    "after_kind",
)


class WandbRun:
    """One W&B run for one run folder.

    Args:
        config: the section ``tracking``.
        folder: of the run.

    Raises:
        UserError: wandb is not installed.
    """

    name = "W&B"

    def __init__(self, config: TrackingConfig, folder: Path) -> None:
        if importlib.util.find_spec("wandb") is None:
            raise UserError(
                "tracking=wandb needs the package wandb; install it with "
                "`.venv/bin/python -m pip install wandb`, or take tracking=jsonl"
            )
        self._config = config
        self._folder = folder
        self._run: Any = None

    def begin(self, manifest: Mapping[str, Any]) -> str | None:
        """Open the run, or continue it."""
        import wandb

        config, place = self._config, self._folder.resolve()
        mode = wandb_mode(config.mode)
        self._run = wandb.init(
            project=config.project,
            entity=config.entity,
            group=config.group,
            tags=config.tags,
            id=run_id(self._folder),
            name=place.name,
            job_type="holdtrue",
            dir=place,
            config=told_config(manifest["config"], texts=config.texts) | _made_of(manifest),
            settings=wandb.Settings(
                mode=mode,
                # Offline, every start is a file of its own, which `wandb sync` joins.
                resume="allow" if mode == "online" else None,
                silent=True,
                # What is printed may quote programs.
                console="off",
                save_code=False,
                disable_git=True,
                init_timeout=config.timeout_s,
                finish_timeout=config.timeout_s,
                finish_timeout_raises=True,
            ),
        )
        self._run.define_metric("step/*", step_metric="step/step")
        self._run.define_metric("live/*", step_metric="live/elapsed_s")
        if mode == "offline":
            parts = self._folder / "wandb" / "offline-run-*"
            return f"W&B is offline; send the run later with: wandb sync {parts}"
        return f"W&B run {self._run.url}"

    def live(self, number: int, figures: Mapping[str, float]) -> None:
        """Send a line of live figures."""
        self._run.log({f"live/{name}": value for name, value in figures.items()}, step=number)

    def finish(self, metrics: Mapping[str, Any], broken: pl.DataFrame | None) -> None:
        """Send scores by step, the summary, the broken chains and the folder; wait for it all."""
        for row in step_figures(metrics):
            self._run.log({f"step/{name}": value for name, value in row.items()})
        self._run.summary.update(score_figures(metrics))
        if broken is not None:
            self._log_broken(broken_table(broken, texts=self._config.texts))
        self._run.log_artifact(self._artifact())
        self.close()

    def close(self) -> None:
        """End the W&B run, or this start's part of it."""
        if self._run is not None:
            run, self._run = self._run, None
            run.finish()

    def _log_broken(self, table: pl.DataFrame) -> None:
        import wandb

        columns, rows = table.columns, [list(row) for row in table.iter_rows()]
        self._run.log({"broken": wandb.Table(columns=columns, data=rows)})

    def _artifact(self) -> Any:
        import wandb

        place = self._folder.resolve()
        scratch = place / "wandb" / f"folder-{secrets.token_hex(4)}"
        scratch.mkdir(parents=True)
        artifact = wandb.Artifact(f"run-{run_id(self._folder)}", type="holdtrue-run")
        for name, path in pack(place, scratch, texts=self._config.texts):
            # Without a copy: the files stay where they are, also until an offline run is sent.
            artifact.add_file(str(path), name=name, policy="immutable", skip_cache=True)
        return artifact


def run_id(folder: Path) -> str:
    """Return the W&B id of a run folder; it gets one when it is first asked for."""
    path = folder / ID_FILE
    if not path.is_file():
        path.write_text(json.dumps({"wandb": secrets.token_hex(6)}) + "\n")
    found: str = json.loads(path.read_text())["wandb"]
    return found


def wandb_mode(asked: str) -> str:
    """Return ``online``, ``offline`` or ``disabled``."""
    if asked != "auto":
        return asked
    import wandb

    if told := os.environ.get("WANDB_MODE"):
        return told
    return "online" if wandb.api.api_key else "offline"


def broken_table(broken: pl.DataFrame, *, texts: bool) -> pl.DataFrame:
    """Return the table of broken chains as it may leave the machine; the first rows only."""
    shown = broken if texts else broken.select(_NUMBERS_OF_BROKEN)
    return shown.head(MOST_TABLE_ROWS)


def _made_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "model_identity": manifest["model"]["identity"],
        "dataset_digest": manifest["dataset"]["digest"],
        "versions": manifest["versions"],
        "source": manifest["source"],
    }
