"""The ``trust`` command: from overrides to answers on the terminal."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa
import ray
from rich.console import Console

from conf import RunConfig, UserError
from pipeline.answerer import (
    Answerer,
    answerer,
    find_models,
    journal_run,
    replayed_config,
    starting,
)
from pipeline.board import Board
from pipeline.chain import Watch, every_second, spent_reason, standstill
from pipeline.checking import gold_check, label_tests
from pipeline.cluster import ray_cluster
from pipeline.compose import load_config
from pipeline.console import captured_output
from pipeline.datasets import dataset_facts, load_problems
from pipeline.desk import KeeperHandle, keeping
from pipeline.manifest import make_manifest
from pipeline.resuming import folder_of_kind, resume_word, resumed_config
from pipeline.runner import Stalled
from pipeline.schemas import PROBLEM
from pipeline.status import StandstillError, note_end, noting_status
from pipeline.tracking import Result, Tracking, tracked
from pipeline.trust.folder import TrustFolder, TrustWriter, costs, without_suspended
from pipeline.trust.plan import TrustPlan, make_trust_plan
from pipeline.trust.progress import TrustProgress
from pipeline.trust.results import Results, check_results, show_results
from pipeline.trust.rows import open_rows, stored_rows
from pipeline.trust.runner import stream_problems
from pipeline.trust.stored import read_stored_samples
from pipeline.worked import unused_problems, with_example
from sandbox.pool import SandboxPool
from serve import ResolvedModel

INTERRUPTED = 130
JOB = "trust"
NOBODY = "stored"
"""Stands for the model's identity where the samples are stored."""


def run_trust(overrides: Sequence[str]) -> int:
    """Run the trust job, or go on with one; return the exit status.

    Raises:
        UserError: anything that the user can mend.
    """
    if not any(override.startswith("resume=") for override in overrides):
        overrides = [f"name={JOB}", *overrides]
    config = load_config(overrides)
    if config.resume:
        config = resumed_config(config, overrides)
    elif config.serve.backend == "replay":
        config = replayed_config(config, overrides)
    results = check_results(config)
    work = _read_work(config)
    with (
        folder_of_kind(config, work.inputs(), TrustFolder) as (folder, goes_on),
        captured_output(folder.path / "run.log") as console,
    ):
        try:
            found = "going on with" if goes_on else "run folder"
            console.print(f"{found} {folder.shown()}", markup=False)
            with (
                noting_status(folder),
                tracked(config, folder.path, console) as tracking,
            ):
                TrustJob(config, folder, work, results, tracking).run(console)
        except KeyboardInterrupt:
            console.print(f"\nInterrupted. {_how_to_go_on(folder)}", markup=False)
            return INTERRUPTED
    return 0


def _how_to_go_on(folder: TrustFolder) -> str:
    return (
        f"What is finished is kept; go on with the same command or\n"
        f"  ./launch.sh trust {resume_word(folder.shown())}"
    )


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

    def inputs(self) -> dict[str, Any]:
        """Return what makes a run this one, beside its configuration."""
        asked = {"model": self.model.identity} if self.model else {"samples": self.source}
        return {"job": JOB, "dataset": self.dataset["digest"], **asked}


def _read_work(config: RunConfig) -> Work:
    if config.trust.source:
        stored = read_stored_samples(config)
        return Work(stored_rows(stored.problems), None, stored.dataset, stored.source)
    problems = load_problems(config.dataset)
    facts = asdict(dataset_facts(config.dataset, problems))
    return Work(open_rows(problems.to_pylist()), find_models(config).model, facts, None)


@dataclass
class TrustJob:
    """One start of the trust job in its folder."""

    config: RunConfig
    folder: TrustFolder
    work: Work
    results: Results
    tracking: Tracking

    def run(self, console: Console) -> None:
        """Check the problems that are still to be checked, and show what is answered."""
        started = time.monotonic()
        finished = self.folder.finished() | set(self._left_out() or {})
        ids = self.work.rows["problem_id"].to_pylist()
        open_ = self.work.rows.filter(pa.array([each not in finished for each in ids]))
        stopped = None
        if open_.num_rows:
            with (
                ray_cluster(self.config.cluster) as cpus,
                keeping(journal_run(self.config, self.folder)) as keeper,
            ):
                stopped = self._check(open_, console, cpus, keeper)
        note_end(self.folder, stopped)
        if stopped:
            console.print(f"PARTIAL RESULT: {stopped}. {_how_to_go_on(self.folder)}", markup=False)
        metrics = show_results(self.folder, self.config, self.results, console, stopped=stopped)
        if metrics:
            self.tracking.scored(self.folder.read_json("manifest.json"), Result(metrics))
        if not finished:
            minutes, seconds = divmod(round(time.monotonic() - started), 60)
            console.print(f"Took {minutes}:{seconds:02d} minutes", markup=False)

    def _check(
        self, rows: pa.Table, console: Console, cpus: float, keeper: KeeperHandle
    ) -> str | None:
        plan = make_trust_plan(self.config, problems=rows.num_rows, cpus=cpus)
        with SandboxPool.start(
            self.config.sandbox,
            actors=plan.sandbox_actors,
            cpus=self.config.cluster.sandbox_cpus,
        ) as sandbox:
            rows, left_out = self._sound(rows, sandbox, console)
            plan = replace(plan, chains=rows.num_rows)
            with self._engine(console, keeper) as engine:
                self._write_manifest(engine, sandbox.isolation, left_out)
                self.tracking.begin(self.folder.read_json("manifest.json"))
                already = self.work.rows.num_rows - rows.num_rows
                progress = TrustProgress(console, plan, already=already, listen=self.tracking.live)
                return self._stream(rows, plan, engine, keeper, sandbox, progress)

    def _stream(
        self,
        rows: pa.Table,
        plan: TrustPlan,
        engine: Answerer | None,
        keeper: KeeperHandle,
        sandbox: SandboxPool,
        progress: TrustProgress,
    ) -> str | None:
        """Publish problems as they come; return why some were left open, if any was."""
        writer = TrustWriter(self.folder, self.config, engine.model.identity if engine else NOBODY)
        board = Board.remote()  # type: ignore[attr-defined]
        watch = Watch(progress, board)
        suspended = 0
        try:
            with every_second(watch.look):
                for done in stream_problems(
                    rows,
                    with_example(self.config),
                    plan,
                    engine=engine.source if engine else None,
                    sandbox=sandbox,
                    board=board,
                    gate=keeper,
                ):
                    keeper.leave(costs(done))
                    kept = without_suspended(done)
                    suspended += done.num_rows - kept.num_rows
                    writer.add(kept)
                    progress.finished.chains += kept.num_rows
        except Stalled:
            watch.read()
            left_open = plan.chains - progress.finished.chains - suspended
            raise StandstillError(
                standstill(self.config, watch.standing, left_open, {"engine": engine})
            ) from None
        finally:
            writer.flush()
            watch.read()
            progress.close(watch.standing)
            ray.kill(board)
        return spent_reason(self.config, keeper) if suspended else None

    def _sound(
        self, rows: pa.Table, sandbox: SandboxPool, console: Console
    ) -> tuple[pa.Table, dict[str, str]]:
        """Return the rows to use, all labelled, and why the others are left out.

        Stored samples are taken as they are: whoever stored them chose the problems.
        """
        problems = rows.select(PROBLEM.names).cast(PROBLEM)
        labelled = label_tests(problems, sandbox, self.config.sandbox)
        rows = rows.set_column(rows.column_names.index("tests"), "tests", labelled["tests"])
        left_out: dict[str, str] = self._left_out() or {}
        if self.work.model and self._left_out() is None:
            left_out = gold_check(labelled, sandbox, self.config.sandbox).failing
            left_out |= unused_problems(self.config, labelled)
        for problem_id, reason in left_out.items():
            console.print(f"left out {problem_id}: {reason}", markup=False)
        kept = [problem not in left_out for problem in rows["problem_id"].to_pylist()]
        if not any(kept):
            raise UserError("no problem is left to check; see ./launch.sh check")
        return rows.filter(pa.array(kept)), left_out

    @contextmanager
    def _engine(self, console: Console, keeper: KeeperHandle) -> Iterator[Answerer | None]:
        """Have something that answers, unless the samples are stored."""
        model = self.work.model
        if model is None:
            yield None
            return
        console.print(starting(self.config, model), markup=False)
        logs = self.folder.path / "logs"
        logs.mkdir(exist_ok=True)
        with answerer(self.config, keeper, model, logs) as engine:
            yield engine

    def _write_manifest(
        self, engine: Answerer | None, isolation: dict[str, Any], left_out: dict[str, str]
    ) -> None:
        """Say what the run is made of, once: what goes on is made of the same."""
        if self.folder.has("manifest.json"):
            return
        manifest = make_manifest(
            replace(self.config, resume=None),
            model=asdict(engine.model) if engine else {"identity": NOBODY},
            dataset=self.work.dataset,
            engine=engine.facts if engine else {"backend": None},
            isolation=isolation,
            left_out=left_out,
        )
        manifest["determinism"]["greedy"] = False
        manifest |= {"job": JOB, "samples": self.work.source}
        self.folder.write_json("manifest.json", manifest)

    def _left_out(self) -> dict[str, str] | None:
        if not self.folder.has("manifest.json"):
            return None
        left_out: dict[str, str] = self.folder.read_json("manifest.json")["dataset"]["left_out"]
        return left_out
