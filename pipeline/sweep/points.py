"""The points of a sweep, and which of them may run at the same time; worked out before any runs."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from conf import EngineConfig, RunConfig, UserError, batch_size
from pipeline.compose import expand, load_config
from pipeline.datasets import load_problems
from pipeline.roles import describing
from serve import app_name, model_of

FULL = 1.5
"""Chains at an engine, in batches: with half a batch waiting, the batch stays full."""
CPUS_FOR_ENGINES = 0.5
"""Most of the cluster's CPUs that engines may take before points have to take turns."""
LEAST_SANDBOX_CPUS = 0.2
MOST_AT_ONCE = 8
"""Each point is a process on this machine, of about half a GB."""


@dataclass(frozen=True)
class Engine:
    """An engine that points share; equal names are one engine."""

    name: str
    config: RunConfig
    """Of a point that needs it; starts it."""
    cpus: float
    gpus: float
    batch: int
    """Requests that it works on at the same time."""

    @classmethod
    def of(cls, config: RunConfig) -> "Engine":
        """Return the engine that answers for a configuration's model."""
        section, is_fake = config.engine, config.serve.backend == "fake"
        return cls(
            name=app_name(config, model_of(config)),
            config=config,
            cpus=section.replicas * section.cpus_per_replica,
            gpus=0.0 if is_fake else section.replicas * _gpus(section),
            batch=batch_size(config),
        )


@dataclass(frozen=True)
class Point:
    """One run of a sweep."""

    name: str
    """Ends its folder's name."""
    chosen: dict[str, str]
    """The values of the keys that the sweep varies."""
    words: tuple[str, ...]
    config: RunConfig
    chains: int
    engines: tuple[Engine, ...]

    @property
    def engine_cpus(self) -> float:
        """CPUs of its engines."""
        return sum(engine.cpus for engine in self.engines)

    @property
    def stage_cpus(self) -> float:
        """CPUs of its stage actors: one a round, and one for what may come after the rounds."""
        return self.config.cluster.stage_cpus * (self.config.chain.length + 2)


def make_points(overrides: Sequence[str]) -> list[Point]:
    """Return the points of a sweep, those that share engines next to each other.

    Everything that a user can mistake is looked at for all points, before any of them runs.

    Raises:
        UserError: a value does not fit, or a point's problems or model are not there.
    """
    choices = expand(overrides)
    configs = [load_config(choice.words) for choice in choices]
    sizes = [_chains(config) for config in configs]
    points = [
        Point(
            name=point_name(number, choice.chosen.values()),
            chosen=choice.chosen,
            words=choice.words,
            config=config,
            chains=size,
            engines=engines_for(config),
        )
        for number, (choice, config, size) in enumerate(zip(choices, configs, sizes, strict=True))
    ]
    order = {names: index for index, names in enumerate(dict.fromkeys(map(_names, points)))}
    return sorted(points, key=lambda point: order[_names(point)])


def point_name(number: int, values: Iterable[str]) -> str:
    """Return a folder's name that tells points apart and sorts as they were written."""
    told = "-".join(
        re.sub(r"[^\w.]+", "_", value.rpartition("/")[2]).strip("_") for value in values
    )
    return f"{number:02d}-{told}"[:80].rstrip("-")


def arrange(points: Sequence[Point], *, cpus: float, gpus: float) -> list[list[Point]]:
    """Return the points in turns: all engines of a turn fit on the cluster together.

    Args:
        points: as ``make_points`` orders them.
        cpus: of the cluster.
        gpus: of the cluster.
    """
    turns: list[list[Point]] = []
    for point in points:
        fits = turns and _fit([*turns[-1], point], CPUS_FOR_ENGINES * cpus, gpus)
        if fits:
            turns[-1].append(point)
        else:
            turns.append([point])
    return turns


def next_point(waiting: Sequence[Point], running: Sequence[Point], *, most: int) -> Point | None:
    """Return the first point that may start now; null while there is none.

    Args:
        waiting: in the order in which they should start.
        running: at this moment.
        most: points that may run at once.
    """
    if len(running) >= most:
        return None
    return next((point for point in waiting if _has_room(point, running)), None)


def count_at_once(points: Sequence[Point], *, cpus: float) -> int:
    """Return how many points of a turn run side by side: at least one.

    Args:
        points: of the turn.
        cpus: that its engines leave.
    """
    needs = max(point.stage_cpus + LEAST_SANDBOX_CPUS for point in points)
    asked = points[0].config.cluster.points_at_once or MOST_AT_ONCE
    most = max(1, min(asked, int(cpus / needs)))
    running: list[Point] = []
    while point := next_point([p for p in points if p not in running], running, most=most):
        running.append(point)
    return len(running)


def share_words(point: Point, share: float) -> list[str]:
    """Return the overrides that keep a point to its share of the cluster.

    Args:
        point: to run.
        share: CPUs for its stages and its sandbox actors.
    """
    actors = point.config.sandbox.actors or 1
    each = max(LEAST_SANDBOX_CPUS, (share - point.stage_cpus) / actors)
    return [
        f"cluster.cpus={share + point.engine_cpus:.4f}",
        f"cluster.sandbox_cpus={min(1.0, int(each * 100) / 100):.2f}",
    ]


def engines_for(config: RunConfig) -> tuple[Engine, ...]:
    """Return the engines that a run needs: its model's first."""
    if config.serve.backend == "replay":
        return ()
    describer = describing(config)
    alone = replace(config, chain=replace(config.chain, describer=None))
    return tuple(map(Engine.of, [alone, describer] if describer else [alone]))


def engines_of(points: Iterable[Point]) -> list[Engine]:
    """Return the engines that points need, each once."""
    return list({engine.name: engine for p in points for engine in p.engines}.values())


def _has_room(point: Point, running: Sequence[Point]) -> bool:
    for engine in point.engines:
        others = [p for p in running if engine.name in _names(p)]
        if others and sum(p.chains for p in others) >= FULL * engine.batch:
            return False
    return True


def _fit(points: Sequence[Point], cpus: float, gpus: float) -> bool:
    engines = engines_of(points)
    return sum(e.cpus for e in engines) <= cpus and sum(e.gpus for e in engines) <= gpus


def _names(point: Point) -> tuple[str, ...]:
    return tuple(engine.name for engine in point.engines)


def _chains(config: RunConfig) -> int:
    if config.resume:
        raise UserError("a sweep goes on as a whole: give its own folder as resume=FOLDER")
    return int(load_problems(config.dataset).num_rows) * config.chain.samples


def _gpus(section: EngineConfig) -> float:
    shards = section.tensor_parallel_size
    return float(shards) if shards > 1 else section.gpus_per_replica
