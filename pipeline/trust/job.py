"""The ``trust`` command: from overrides to answers on the terminal."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import ray
from rich.console import Console

from conf import RunConfig, UserError
from pipeline.board import Board
from pipeline.chain import shown_progress
from pipeline.checking import gold_check, label_tests
from pipeline.cluster import ray_cluster
from pipeline.compose import check_resumable, load_config
from pipeline.console import captured_output
from pipeline.datasets import dataset_facts, load_problems
from pipeline.manifest import make_manifest
from pipeline.schemas import PROBLEM
from pipeline.trust.folder import TrustFolder, TrustWriter
from pipeline.trust.plan import TrustPlan, make_trust_plan
from pipeline.trust.progress import TrustProgress
from pipeline.trust.results import Results, check_results, show_results
from pipeline.trust.rows import open_rows, stored_rows
from pipeline.trust.runner import stream_problems
from pipeline.trust.stored import read_stored_samples
from pipeline.worked import unused_problems, with_example
from sandbox.pool import SandboxPool
from serve import EngineHandle, ResolvedModel, model_of, start_engine, stop_engine

INTERRUPTED = 130
JOB = "trust"
NOBODY = "stored"
"""Stands for the model's identity where the samples are stored."""


def run_trust(overrides: Sequence[str]) -> int:
    """Run the trust job, or go on with one; return the exit status.

    Raises:
        UserError: anything that the user can mend.
    """
    config = load_config([f"name={JOB}", *overrides])
    folder: TrustFolder | None = None
    if config.resume:
        folder = TrustFolder.reopen(Path(config.resume))
        config = check_resumable(folder.read_json("manifest.json")["config"], config)
    results = check_results(config)
    work = _read_work(config)
    folder = folder or TrustFolder.create(Path(config.runs_dir), config.name)
    with captured_output(folder.path / "run.log") as console:
        try:
            TrustJob(config, folder, work, results).run(console)
        except KeyboardInterrupt:
            console.print(
                f"\nInterrupted. What is finished is kept; go on with\n"
                f"  ./launch.sh trust resume={folder.path}",
                markup=False,
            )
            return INTERRUPTED
    return 0


@dataclass(frozen=True)
class Work:
    """What is to be done."""

    rows: pa.Table
    """Schema TRUST_ROW: problems, with their samples if these are stored."""
    model: ResolvedModel | None
    """Who is asked for samples; null if they are stored."""
    dataset: dict[str, Any]
    source: dict[str, Any] | None
    """What the stored samples are."""


def _read_work(config: RunConfig) -> Work:
    if config.trust.source:
        stored = read_stored_samples(config)
        return Work(stored_rows(stored.problems), None, stored.dataset, stored.source)
    problems = load_problems(config.dataset)
    facts = asdict(dataset_facts(config.dataset, problems))
    return Work(open_rows(problems.to_pylist()), model_of(config), facts, None)


@dataclass
class TrustJob:
    """One start of the trust job in its folder."""

    config: RunConfig
    folder: TrustFolder
    work: Work
    results: Results

    def run(self, console: Console) -> None:
        """Check the problems that are still to be checked, and show what is answered."""
        started = time.monotonic()
        console.print(f"run folder {self.folder.path}", markup=False)
        finished = self.folder.finished() | set(self._recorded("left_out") or {})
        ids = self.work.rows["problem_id"].to_pylist()
        open_ = self.work.rows.filter(pa.array([each not in finished for each in ids]))
        if open_.num_rows:
            with ray_cluster(self.config.cluster) as cpus:
                self._check(open_, console, cpus)
        show_results(self.folder, self.config, self.results, console)
        if not finished:
            minutes, seconds = divmod(round(time.monotonic() - started), 60)
            console.print(f"Took {minutes}:{seconds:02d} minutes", markup=False)

    def _check(self, rows: pa.Table, console: Console, cpus: float) -> None:
        plan = make_trust_plan(self.config, problems=rows.num_rows, cpus=cpus)
        with SandboxPool.start(self.config.sandbox, actors=plan.sandbox_actors) as sandbox:
            rows, left_out = self._sound(rows, sandbox, console)
            plan = replace(plan, chains=rows.num_rows)
            with self._engine(console) as engine:
                self._write_manifest(engine, sandbox.isolation, left_out)
                self._stream(rows, plan, engine, sandbox, console)

    def _stream(
        self,
        rows: pa.Table,
        plan: TrustPlan,
        engine: EngineHandle | None,
        sandbox: SandboxPool,
        console: Console,
    ) -> None:
        model = self.work.model.identity if self.work.model else NOBODY
        writer = TrustWriter(self.folder, self.config, model)
        already = self.work.rows.num_rows - rows.num_rows
        progress = TrustProgress(console, plan, already=already)
        board = Board.remote()  # type: ignore[attr-defined]
        try:
            with shown_progress(progress, board):
                for done in stream_problems(
                    rows,
                    with_example(self.config),
                    plan,
                    engine=engine.spec if engine else None,
                    sandbox=sandbox,
                    board=board,
                ):
                    writer.add(done)
                    progress.finished.chains += done.num_rows
        finally:
            writer.flush()
            ray.kill(board)

    def _sound(
        self, rows: pa.Table, sandbox: SandboxPool, console: Console
    ) -> tuple[pa.Table, dict[str, str]]:
        """Return the rows to use, all labelled, and why the others are left out.

        Stored samples are taken as they are: whoever stored them chose the problems.
        """
        problems = rows.select(PROBLEM.names).cast(PROBLEM)
        labelled = label_tests(problems, sandbox, self.config.sandbox)
        rows = rows.set_column(rows.column_names.index("tests"), "tests", labelled["tests"])
        left_out: dict[str, str] = self._recorded("left_out") or {}
        if self.work.model and self._recorded("left_out") is None:
            left_out = gold_check(labelled, sandbox, self.config.sandbox).failing
            left_out |= unused_problems(self.config, labelled)
        for problem_id, reason in left_out.items():
            console.print(f"left out {problem_id}: {reason}", markup=False)
        kept = [problem not in left_out for problem in rows["problem_id"].to_pylist()]
        if not any(kept):
            raise UserError("no problem is left to check; see ./launch.sh check")
        return rows.filter(pa.array(kept)), left_out

    @contextmanager
    def _engine(self, console: Console) -> Iterator[EngineHandle | None]:
        """Start an engine, or borrow a running one, unless the samples are stored."""
        if self.work.model is None:
            yield None
            return
        console.print(
            f"starting {self.config.engine.replicas} engine replica(s) of {self.work.model.label}",
            markup=False,
        )
        logs = self.folder.path / "logs"
        logs.mkdir(exist_ok=True)
        engine = start_engine(self.config, logs)
        try:
            yield engine
        finally:
            if not engine.reused:
                stop_engine(engine)

    def _write_manifest(
        self, engine: EngineHandle | None, isolation: dict[str, Any], left_out: dict[str, str]
    ) -> None:
        manifest = make_manifest(
            replace(self.config, resume=None),
            model=asdict(self.work.model) if self.work.model else {"identity": NOBODY},
            dataset=self.work.dataset,
            engine=engine.facts if engine else {"backend": None},
            isolation=isolation,
            left_out=left_out,
        )
        manifest["determinism"]["greedy"] = False
        manifest |= {"job": JOB, "samples": self.work.source}
        if (self.folder.path / "manifest.json").is_file():
            self._refuse_other_inputs(manifest)
        else:
            self.folder.write_json("manifest.json", manifest)

    def _refuse_other_inputs(self, now: dict[str, Any]) -> None:
        """A run goes on only with the weights, problems and samples it was started with."""
        then = self.folder.read_json("manifest.json")
        same = {
            "model": (then["model"]["identity"], now["model"]["identity"]),
            "data set": (then["dataset"]["digest"], now["dataset"]["digest"]),
            "stored samples": (then["samples"], now["samples"]),
        }
        for what, (old, new) in same.items():
            if old != new:
                raise UserError(
                    f"resume={self.folder.path}: the {what} changed since the run was started "
                    f"({old} then, {new} now); start a new run"
                )

    def _recorded(self, key: str) -> Any:
        if not (self.folder.path / "manifest.json").is_file():
            return None
        return self.folder.read_json("manifest.json")["dataset"][key]
