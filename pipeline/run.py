"""The ``run`` command: from overrides to scores on the terminal."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
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
from pipeline.answerer import (
    Answerer,
    Models,
    answerer,
    find_models,
    journal_run,
    replayed_config,
    starting,
)
from pipeline.chain import ShardWriter, Stopped, make_chains
from pipeline.checking import gold_check, label_tests
from pipeline.cluster import node_gpus, ray_cluster
from pipeline.compose import load_config
from pipeline.console import captured_output
from pipeline.datasets import dataset_facts, load_problems
from pipeline.desk import KeeperHandle, keeping
from pipeline.gpus import check_gpus, gpu_plan
from pipeline.manifest import make_manifest
from pipeline.plan import make_plan
from pipeline.progress import Progress
from pipeline.resuming import resume_word, resumed_config, run_folder
from pipeline.roles import describing
from pipeline.runfolder import RunFolder
from pipeline.scores import score_run
from pipeline.status import note_end, noting_status
from pipeline.tables import open_chains
from pipeline.tracking import Result, Tracking, tracked
from pipeline.worked import unused_problems, with_example
from sandbox.pool import SandboxPool

INTERRUPTED = 130


def run(overrides: Sequence[str]) -> int:
    """Run the chain job, or go on with one; return the exit status.

    Raises:
        UserError: anything that the user can mend.
    """
    config = load_config(overrides)
    if config.resume:
        config = resumed_config(config, overrides)
    elif config.serve.backend == "replay":
        config = replayed_config(config, overrides)
    problems = load_problems(config.dataset)
    # Found missing now rather than when everything else is running.
    models = find_models(config)
    shown = with_example(config)
    inputs = models.identities() | {"dataset": dataset_facts(config.dataset, problems).digest}
    with (
        run_folder(config, inputs) as (folder, goes_on),
        captured_output(folder.path / "run.log") as console,
    ):
        try:
            console.print(_opening(folder, goes_on and not config.resume), markup=False)
            with noting_status(folder), tracked(config, folder.path, console) as tracking:
                ChainJob(config, folder, models, problems, shown, tracking).run(console)
        except KeyboardInterrupt:
            console.print(f"\nInterrupted. {_how_to_go_on(folder)}", markup=False)
            return INTERRUPTED
    return 0


def _opening(folder: RunFolder, found: bool) -> str:
    if found:
        return f"going on with {folder.shown()}, which was not finished (fresh=true begins anew)"
    return f"run folder {folder.shown()}"


def _how_to_go_on(folder: RunFolder) -> str:
    return (
        f"What is finished is kept; go on with the same command or\n"
        f"  ./launch.sh run {resume_word(folder.shown())}"
    )


@dataclass
class ChainJob:
    """One start of the chain job in its folder."""

    config: RunConfig
    folder: RunFolder
    models: Models
    problems: pa.Table
    shown: RunConfig
    """The same configuration with the texts of its worked example."""
    tracking: Tracking

    def run(self, console: Console) -> None:
        """Make the chains that are still to be made, and show the scores of all."""
        started = time.monotonic()
        finished = self.folder.finished_chains()
        stopped = None
        with ray_cluster(self.config.cluster) as cpus:
            if not self._is_complete(finished):
                with keeping(journal_run(self.config, self.folder)) as keeper:
                    stopped = self._make_chains(console, cpus, finished, keeper)
        note_end(self.folder, stopped.reason if stopped else None)
        # Tokens per second make sense only when all tokens are of this start.
        self._report(console, None if finished else time.monotonic() - started, stopped)

    def _is_complete(self, finished: set[str]) -> bool:
        left_out = self._recorded_left_out() or {}
        chains = open_chains(self.problems, self.config, finished=finished)
        return chains.problem_ids() <= left_out.keys()

    def _make_chains(
        self, console: Console, cpus: float, finished: set[str], keeper: KeeperHandle
    ) -> Stopped | None:
        count = self.problems.num_rows * self.config.chain.samples - len(finished)
        plan = make_plan(self.config, chains=count, cpus=cpus)
        check_gpus(gpu_plan(self.config), node_gpus())
        with SandboxPool.start(
            self.config.sandbox,
            actors=plan.sandbox_actors,
            cpus=self.config.cluster.sandbox_cpus,
        ) as sandbox:
            sound, left_out = self._sound(sandbox, console)
            chains = open_chains(sound, self.config, finished=finished)
            plan = replace(plan, chains=chains.num_rows)
            console.print(starting(self.config, self.models.model), markup=False)
            with self._answerers(keeper) as (engine, describer):
                self._write_manifest(engine, describer, sandbox.isolation, left_out)
                self.tracking.begin(self.folder.read_json("manifest.json"))
                return make_chains(
                    chains,
                    self.shown,
                    plan,
                    engine=engine,
                    describer=describer,
                    keeper=keeper,
                    sandbox=sandbox,
                    writer=ShardWriter(
                        self.folder,
                        self.config,
                        engine.model.identity,
                        describer.model.identity if describer else None,
                    ),
                    progress=Progress(
                        console, plan, already=len(finished), listen=self.tracking.live
                    ),
                )

    @contextmanager
    def _answerers(self, keeper: KeeperHandle) -> Iterator[tuple[Answerer, Answerer | None]]:
        logs = self.folder.path / "logs"
        logs.mkdir(exist_ok=True)
        second, model = describing(self.config), self.models.describer
        with ExitStack() as stack:
            engine = stack.enter_context(answerer(self.config, keeper, self.models.model, logs))
            describer = (
                stack.enter_context(answerer(second, keeper, model, logs))
                if second and model
                else None
            )
            yield engine, describer

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
        if not self.folder.has("manifest.json"):
            return None
        left_out: dict[str, str] = self.folder.read_json("manifest.json")["dataset"]["left_out"]
        return left_out

    def _write_manifest(
        self,
        engine: Answerer,
        describer: Answerer | None,
        isolation: dict[str, Any],
        left_out: dict[str, str],
    ) -> None:
        """Say what the run is made of, once: what goes on is made of the same."""
        if self.folder.has("manifest.json"):
            return
        manifest = make_manifest(
            replace(self.config, resume=None),
            model=asdict(engine.model),
            dataset=asdict(dataset_facts(self.config.dataset, self.problems)),
            engine=engine.facts,
            isolation=isolation,
            left_out=left_out,
            probe=engine.probe(),
            describer=_describer_facts(describer),
            example=self.shown.example,
        )
        self.folder.write_json("manifest.json", manifest)

    def _report(self, console: Console, wall_s: float | None, stopped: Stopped | None) -> None:
        tables = read_run(self.folder.path)
        metrics = score_run(tables, self.config)
        audit = audit_run(tables) if self.config.chain.audit else None
        chain = self.config.chain
        blame = measure_blame(tables, chain.length) if chain.blame else None
        extras = {"audit": audit, "blame": blame}
        partial = asdict(stopped) if stopped else None
        content = metrics.to_json() | {name: e.to_json() for name, e in extras.items() if e}
        content |= {"partial": partial}
        self.folder.write_json("metrics.json", content)
        broken = broken_chains(tables, chain.length)
        self.tracking.scored(self.folder.read_json("manifest.json"), Result(content, broken))
        files = {
            "tables": self.folder.shown(),
            "scores": self.folder.shown("metrics.json"),
            "made of": self.folder.shown("manifest.json"),
            "log": self.folder.shown("run.log"),
        }
        if stopped:
            console.print(_partial_words(metrics.chains, stopped), markup=False)
        console.print(render_report(metrics, files, wall_s=wall_s))
        if audit:
            console.print(render_audit(audit))
        if blame:
            console.print(render_blame(blame))
        if stopped:
            console.print(_how_to_go_on(self.folder), markup=False)


def _partial_words(ended: int, stopped: Stopped) -> str:
    left = stopped.not_begun + stopped.cut_off
    sample = (
        f"{stopped.cut_off} were cut off, so that short chains are over-represented"
        if stopped.cut_off
        else "all that were begun, short and long"
    )
    return (
        f"PARTIAL RESULT: {stopped.reason}.\n"
        f"The scores and their intervals speak of {ended} of {ended + left} chains: {sample}."
    )


def _describer_facts(describer: Answerer | None) -> dict[str, Any] | None:
    return asdict(describer.model) | {"engine": describer.facts} if describer else None
