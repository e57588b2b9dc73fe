"""The ``run`` command: from overrides to scores on the terminal."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console

from analysis import chain_metrics, read_run, render_report
from conf import RunConfig, UserError
from pipeline.chain import ShardWriter, make_chains
from pipeline.checking import gold_check, keep_sound
from pipeline.cluster import ray_cluster
from pipeline.compose import check_resumable, load_config
from pipeline.console import captured_output
from pipeline.datasets import dataset_facts, load_problems
from pipeline.manifest import make_manifest
from pipeline.plan import make_plan
from pipeline.progress import Progress
from pipeline.runfolder import RunFolder
from pipeline.tables import open_chains
from sandbox.pool import SandboxPool
from serve import EngineHandle, ResolvedModel, resolve_model, start_engine, stop_engine

INTERRUPTED = 130


def run(overrides: Sequence[str]) -> int:
    """Run the chain job, or go on with one; return the exit status.

    Raises:
        UserError: anything that the user can mend.
    """
    config = load_config(overrides)
    folder: RunFolder | None = None
    if config.resume:
        folder = RunFolder.reopen(Path(config.resume))
        config = check_resumable(folder.read_json("manifest.json")["config"], config)
    problems = load_problems(config.dataset)
    model = resolve_model(config.model)
    folder = folder or RunFolder.create(Path(config.runs_dir), config.name)
    job = ChainJob(config, folder, model, problems)
    with captured_output(folder.path / "run.log") as console:
        try:
            job.run(console)
        except KeyboardInterrupt:
            console.print(
                f"\nInterrupted. What is finished is kept; go on with\n"
                f"  ./launch.sh run resume={folder.path}",
                markup=False,
            )
            return INTERRUPTED
    return 0


@dataclass
class ChainJob:
    """One start of the chain job in its folder."""

    config: RunConfig
    folder: RunFolder
    model: ResolvedModel
    problems: pa.Table

    def run(self, console: Console) -> None:
        """Make the chains that are still to be made, and show the scores of all."""
        started = time.monotonic()
        console.print(f"run folder {self.folder.path}", markup=False)
        with ray_cluster(self.config.cluster) as cpus:
            self._make_chains(console, cpus)
        self._report(console, time.monotonic() - started)

    def _make_chains(self, console: Console, cpus: float) -> None:
        finished = self.folder.finished_chains()
        everything = open_chains(self.problems, self.config, finished=finished)
        plan = make_plan(self.config, chains=everything.num_rows, cpus=cpus)
        if not everything.num_rows:
            return
        with SandboxPool.start(self.config.sandbox, actors=plan.sandbox_actors) as sandbox:
            table, left_out = self._sound(everything, sandbox, console)
            console.print(
                f"starting {self.config.engine.replicas} engine replica(s) of {self.model.label}",
                markup=False,
            )
            with self._engine() as engine:
                self._write_manifest(engine.facts, sandbox.isolation, left_out)
                plan = replace(plan, chains=table.num_rows)
                make_chains(
                    table,
                    self.config,
                    plan,
                    engine=engine.spec,
                    sandbox=sandbox,
                    writer=ShardWriter(self.folder, self.config, self.model.identity),
                    progress=Progress(console, plan, already=len(finished)),
                )

    @contextmanager
    def _engine(self) -> Iterator[EngineHandle]:
        """Start the engine, or borrow a running one; what was borrowed is left running."""
        logs = self.folder.path / "logs"
        logs.mkdir(exist_ok=True)
        engine = start_engine(self.config, logs)
        try:
            yield engine
        finally:
            if not engine.reused:
                stop_engine(engine)

    def _sound(
        self, chains: pa.Table, sandbox: SandboxPool, console: Console
    ) -> tuple[pa.Table, dict[str, str]]:
        """Leave out the problems whose own solution fails, by name."""
        report = gold_check(self.problems, sandbox, self.config.sandbox)
        kept, left_out = keep_sound(self.problems, report)
        for problem_id, reason in left_out.items():
            console.print(f"left out {problem_id}: {reason}", markup=False)
        if not kept.num_rows:
            raise UserError("every problem fails its own check; see ./launch.sh check")
        names = set(kept["problem_id"].to_pylist())
        mask = [problem_id in names for problem_id in chains["problem_id"].to_pylist()]
        return chains.filter(pa.array(mask)), left_out

    def _write_manifest(
        self, engine: dict[str, Any], isolation: dict[str, Any], left_out: dict[str, str]
    ) -> None:
        dataset = asdict(dataset_facts(self.config.dataset, self.problems))
        manifest = make_manifest(
            replace(self.config, resume=None),
            model=asdict(self.model),
            dataset=dataset,
            engine=engine,
            isolation=isolation,
            left_out=left_out,
        )
        if (self.folder.path / "manifest.json").is_file():
            self._refuse_other_inputs(manifest)
        else:
            self.folder.write_json("manifest.json", manifest)

    def _refuse_other_inputs(self, now: dict[str, Any]) -> None:
        """A run goes on only with the weights and problems it was started with."""
        then = self.folder.read_json("manifest.json")
        for what, key in (("model", "identity"), ("dataset", "digest")):
            if then[what][key] != now[what][key]:
                raise UserError(
                    f"resume={self.folder.path}: the {what} has changed since the run was "
                    f"started ({then[what][key]} then, {now[what][key]} now); start a new run"
                )

    def _report(self, console: Console, wall_s: float) -> None:
        metrics = chain_metrics(
            read_run(self.folder.path), self.config.chain.length, seed=self.config.seed
        )
        path = self.folder.write_json("metrics.json", metrics.to_json())
        files = {
            "tables": self.folder.path,
            "scores": path,
            "made of": self.folder.path / "manifest.json",
            "log": self.folder.path / "run.log",
        }
        console.print(render_report(metrics, files, wall_s=wall_s))
