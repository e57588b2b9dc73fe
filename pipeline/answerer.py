"""What answers a run's requests: an engine started for it, or the journal of another run."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conf import RunConfig, UserError
from pipeline.answering import AnswerSource, JournaledEngine
from pipeline.cluster import outlives_driver
from pipeline.compose import overlaid
from pipeline.desk import KeeperHandle
from pipeline.fetching import fetch_journal, read_file
from pipeline.keeper import JournalRun
from pipeline.resuming import read_beginning
from pipeline.roles import describing
from pipeline.runfolder import RunFolder, sibling_journals
from serve import (
    BatchProbe,
    ClientSpec,
    EngineHandle,
    ResolvedModel,
    leave_engine,
    model_of,
    probe_batches,
    start_engine,
)
from serve.engine import Facts


@dataclass(frozen=True)
class Answerer:
    """What answers one role of a run."""

    source: AnswerSource
    model: ResolvedModel
    facts: Facts
    """What the engine says of itself."""
    spec: ClientSpec | None
    """The engine; null in a replay."""

    @classmethod
    def of(cls, engine: EngineHandle, keeper: KeeperHandle) -> "Answerer":
        """Put a running engine behind the journal of a run."""
        source = JournaledEngine(keeper, engine.model.identity, engine.spec)
        return cls(source, engine.model, engine.facts, engine.spec)

    def probe(self) -> BatchProbe | None:
        """Ask the engine whether the size of a batch changes its answers; null without one."""
        return probe_batches(self.spec) if self.spec else None


@dataclass(frozen=True)
class Models:
    """Who answers, found before anything expensive starts."""

    model: ResolvedModel
    describer: ResolvedModel | None

    def identities(self) -> dict[str, str]:
        """Return what the run's folder keeps of them."""
        found = {"model": self.model.identity}
        return found | ({"describer": self.describer.identity} if self.describer else {})


def find_models(config: RunConfig) -> Models:
    """Find the models of a run; in a replay they are those that answered then.

    Raises:
        UserError: a model, or the run to replay, is not there.
    """
    describer = describing(config)
    if config.serve.backend != "replay":
        return Models(model_of(config), model_of(describer) if describer else None)
    then = _manifest(config)
    return Models(
        _recorded_model(then["model"]),
        _recorded_model(then["describer"]) if describer and then["describer"] else None,
    )


def replayed_config(asked: RunConfig, overrides: Sequence[str]) -> RunConfig:
    """Return the configuration of a replay: the source's, with what this command line says.

    Raises:
        UserError: no run is named to replay, or there is none.
    """
    if not asked.serve.replay_from:
        raise UserError("serve=replay needs serve.replay_from=RUN, a folder under runs/")
    recorded = read_beginning(asked.serve.replay_from, "serve.replay_from")["config"]
    config, _ = overlaid(recorded | {"name": asked.name}, asked, overrides)
    config.serve = asked.serve
    return config


def replay_sources(config: RunConfig) -> tuple[str, ...]:
    """Return the journals that answer beside the run's own."""
    if config.serve.backend != "replay":
        return ()
    return (str(fetch_journal(config.serve.replay_from or "")),)


def journal_run(config: RunConfig, folder: RunFolder) -> JournalRun:
    """How one start keeps its journal: what it may read besides, and what it may spend."""
    minutes = config.budget.minutes
    return JournalRun(
        str(folder.journal),
        sources=(*replay_sources(config), *sibling_journals(folder)),
        token_limit=config.budget.tokens,
        ends_at=time.time() + 60 * minutes if minutes is not None else None,
        pays=config.serve.backend != "replay",
        address=folder.journal_address,
    )


def starting(config: RunConfig, model: ResolvedModel) -> str:
    """Return the line that says what is about to answer."""
    if config.serve.backend == "replay":
        return f"replaying {config.serve.replay_from}: no engine"
    return f"starting {config.engine.replicas} engine replica(s) of {model.label}"


@contextmanager
def answerer(
    config: RunConfig, keeper: KeeperHandle, model: ResolvedModel, logs: Path
) -> Iterator[Answerer]:
    """Start an engine, or borrow a running one, which whoever else uses it keeps.

    Args:
        config: the run, or of another describer ``describing`` it.
        keeper: of the run's journal.
        model: who answers.
        logs: existing folder for what the replicas print.
    """
    if config.serve.backend == "replay":
        source = JournaledEngine(keeper, model.identity, None)
        facts: Facts = {"backend": "replay", "replay_from": config.serve.replay_from}
        yield Answerer(source, model, facts, None)
        return
    engine = start_engine(config, logs, joined=outlives_driver(config.cluster))
    try:
        yield Answerer.of(engine, keeper)
    finally:
        leave_engine(engine)


def _manifest(config: RunConfig) -> Any:
    place = config.serve.replay_from or ""
    content = read_file(place, "manifest.json")
    if content is None:
        raise UserError(
            f"serve.replay_from={place}: that run has no manifest.json: it ended before "
            f"its engine had answered anything"
        )
    return json.loads(content)


def _recorded_model(facts: dict[str, Any]) -> ResolvedModel:
    return ResolvedModel(**{name: facts[name] for name in ResolvedModel.__match_args__})
