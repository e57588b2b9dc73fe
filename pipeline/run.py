"""The ``run`` command: from overrides to scores on the terminal."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console

from analysis import (
    audit_run,
    measure_blame,
    read_run,
    render_audit,
    render_blame,
    render_report,
)
from analysis.broken import broken_chains
from conf import RunConfig, UserError
from pipeline.chain import ShardWriter, make_chains
from pipeline.checking import gold_check, label_tests
from pipeline.cluster import ray_cluster
from pipeline.compose import check_resumable, load_config
from pipeline.console import captured_output
from pipeline.datasets import dataset_facts, load_problems
from pipeline.manifest import make_manifest
from pipeline.plan import make_plan
from pipeline.progress import Progress
from pipeline.roles import describing
from pipeline.runfolder import RunFolder
from pipeline.scores import score_run
from pipeline.tables import open_chains
from pipeline.tracking import Result, Tracking, tracked
from pipeline.worked import unused_problems, with_example
from sandbox.pool import SandboxPool
from serve import (
    BatchProbe,
    EngineHandle,
    ResolvedModel,
    model_of,
    probe_batches,
    start_engine,
    stop_engine,
)

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
    model = model_of(config)
    if describer := describing(config):
        # Found missing now rather than when everything else is running.
        model_of(describer)
    shown = with_example(config)
    folder = folder or RunFolder.create(Path(config.runs_dir), config.name)
    with captured_output(folder.path / "run.log") as console:
        try:
            with tracked(config, folder.path, console) as tracking:
                ChainJob(config, folder, model, problems, shown, tracking).run(console)
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
    shown: RunConfig
    """The same configuration with the texts of its worked example."""
    tracking: Tracking

    def run(self, console: Console) -> None:
        """Make the chains that are still to be made, and show the scores of all."""
        started = time.monotonic()
        finished = self.folder.finished_chains()
        console.print(f"run folder {self.folder.path}", markup=False)
        with ray_cluster(self.config.cluster) as cpus:
            if not self._is_complete(finished):
                self._make_chains(console, cpus, finished)
        # Tokens per second make sense only when all tokens are of this start.
        self._report(console, None if finished else time.monotonic() - started)

    def _is_complete(self, finished: set[str]) -> bool:
        left_out = self._recorded_left_out() or {}
        chains = open_chains(self.problems, self.config, finished=finished)
        return all(problem in left_out for problem in chains["problem_id"].to_pylist())

    def _make_chains(self, console: Console, cpus: float, finished: set[str]) -> None:
        chains = self.problems.num_rows * self.config.chain.samples - len(finished)
        plan = make_plan(self.config, chains=chains, cpus=cpus)
        with SandboxPool.start(self.config.sandbox, actors=plan.sandbox_actors) as sandbox:
            sound, left_out = self._sound(sandbox, console)
            table = open_chains(sound, self.config, finished=finished)
            plan = replace(plan, chains=table.num_rows)
            console.print(
                f"starting {self.config.engine.replicas} engine replica(s) of {self.model.label}",
                markup=False,
            )
            with (
                self._engine(self.config) as engine,
                self._engine(describing(self.config)) as describer,
            ):
                assert engine is not None
                self._write_manifest(engine, describer, sandbox.isolation, left_out)
                self.tracking.begin(self.folder.read_json("manifest.json"))
                make_chains(
                    table,
                    self.shown,
                    plan,
                    engine=engine.spec,
                    describer=describer.spec if describer else None,
                    sandbox=sandbox,
                    writer=ShardWriter(
                        self.folder,
                        self.config,
                        self.model.identity,
                        describer.model.identity if describer else None,
                    ),
                    progress=Progress(
                        console, plan, already=len(finished), listen=self.tracking.live
                    ),
                )

    @contextmanager
    def _engine(self, config: RunConfig | None) -> Iterator[EngineHandle | None]:
        """Start an engine, or borrow a running one; what was borrowed is left running."""
        if config is None:
            yield None
            return
        logs = self.folder.path / "logs"
        logs.mkdir(exist_ok=True)
        engine = start_engine(config, logs)
        try:
            yield engine
        finally:
            if not engine.reused:
                stop_engine(engine)

    def _sound(self, sandbox: SandboxPool, console: Console) -> tuple[pa.Table, dict[str, str]]:
        """Return the problems to use, all labelled, and why the others are left out.

        A run that goes on leaves out what it left out when it started.
        """
        labelled = label_tests(self.problems, sandbox, self.config.sandbox)
        left_out = self._recorded_left_out()
        if left_out is None:
            failing = gold_check(labelled, sandbox, self.config.sandbox).failing
            left_out = failing | unused_problems(self.config, labelled)
        for problem_id, reason in left_out.items():
            console.print(f"left out {problem_id}: {reason}", markup=False)
        kept = [problem not in left_out for problem in labelled["problem_id"].to_pylist()]
        if not any(kept):
            raise UserError("no problem is left to evaluate; see ./launch.sh check")
        return labelled.filter(pa.array(kept)), left_out

    def _recorded_left_out(self) -> dict[str, str] | None:
        if not (self.folder.path / "manifest.json").is_file():
            return None
        left_out: dict[str, str] = self.folder.read_json("manifest.json")["dataset"]["left_out"]
        return left_out

    def _probe(self, engine: EngineHandle) -> BatchProbe | None:
        """Ask the engine once a run whether the size of a batch changes its answers."""
        is_new = not (self.folder.path / "manifest.json").is_file()
        return probe_batches(engine.spec) if is_new else None

    def _write_manifest(
        self,
        engine: EngineHandle,
        describer: EngineHandle | None,
        isolation: dict[str, Any],
        left_out: dict[str, str],
    ) -> None:
        dataset = asdict(dataset_facts(self.config.dataset, self.problems))
        manifest = make_manifest(
            replace(self.config, resume=None),
            model=asdict(self.model),
            dataset=dataset,
            engine=engine.facts,
            isolation=isolation,
            left_out=left_out,
            probe=self._probe(engine),
            describer=_describer_facts(describer),
            example=self.shown.example,
        )
        if (self.folder.path / "manifest.json").is_file():
            self._refuse_other_inputs(manifest)
        else:
            self.folder.write_json("manifest.json", manifest)

    def _refuse_other_inputs(self, now: dict[str, Any]) -> None:
        """A run goes on only with the weights and problems it was started with."""
        then = self.folder.read_json("manifest.json")
        parts = [("model", "identity"), ("dataset", "digest")]
        if now["describer"]:
            parts.append(("describer", "identity"))
        for what, key in parts:
            if then[what][key] != now[what][key]:
                raise UserError(
                    f"resume={self.folder.path}: the {what} has changed since the run was "
                    f"started ({then[what][key]} then, {now[what][key]} now); start a new run"
                )

    def _report(self, console: Console, wall_s: float | None) -> None:
        tables = read_run(self.folder.path)
        metrics = score_run(tables, self.config)
        audit = audit_run(tables) if self.config.chain.audit else None
        chain = self.config.chain
        blame = measure_blame(tables, chain.length) if chain.blame else None
        extras = {"audit": audit, "blame": blame}
        content = metrics.to_json() | {name: e.to_json() for name, e in extras.items() if e}
        path = self.folder.write_json("metrics.json", content)
        broken = broken_chains(tables, chain.length)
        self.tracking.scored(self.folder.read_json("manifest.json"), Result(content, broken))
        files = {
            "tables": self.folder.path,
            "scores": path,
            "made of": self.folder.path / "manifest.json",
            "log": self.folder.path / "run.log",
        }
        console.print(render_report(metrics, files, wall_s=wall_s))
        if audit:
            console.print(render_audit(audit))
        if blame:
            console.print(render_blame(blame))


def _describer_facts(describer: EngineHandle | None) -> dict[str, Any] | None:
    return asdict(describer.model) | {"engine": describer.facts} if describer else None
