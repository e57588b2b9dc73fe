"""The chain job on parts that a benchmark has already started."""

from pathlib import Path

from rich.console import Console

from conf import RunConfig
from pipeline.answerer import Answerer
from pipeline.chain import ShardWriter, make_chains
from pipeline.desk import keeping
from pipeline.keeper import JournalRun
from pipeline.plan import ChainPlan
from pipeline.progress import Progress
from pipeline.runfolder import RunFolder
from pipeline.tables import OpenChains
from sandbox.pool import SandboxPool
from serve import EngineHandle


def make_all(
    chains: OpenChains,
    config: RunConfig,
    plan: ChainPlan,
    engine: EngineHandle,
    sandbox: SandboxPool,
    runs: Path,
) -> RunFolder:
    """Make the chains into a new run folder under ``runs``, and give it.

    Args:
        chains: the open ones.
        config: the run.
        plan: of the same run.
        engine: answers; without the journal of another run.
        sandbox: runs the programs.
        runs: where the folder is made.
    """
    folder = RunFolder.create(runs, "benchmark")
    with keeping(JournalRun(str(folder.journal))) as keeper:
        make_chains(
            chains,
            config,
            plan,
            engine=Answerer.of(engine, keeper),
            keeper=keeper,
            sandbox=sandbox,
            writer=ShardWriter(folder, config, engine.model.identity),
            progress=Progress(Console(stderr=True), plan),
        )
    return folder
