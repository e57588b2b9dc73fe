"""What a sweep would do, in plain text; starts nothing."""

from collections.abc import Sequence

from pipeline.sweep.points import Engine, Point, arrange, count_at_once, engines_of


def describe_sweep(points: Sequence[Point], *, cpus: float, gpus: float) -> str:
    """Return the turns of a sweep with their engines and points.

    Args:
        points: as ``make_points`` orders them.
        cpus: of the cluster.
        gpus: of the cluster.
    """
    turns = arrange(points, cpus=cpus, gpus=gpus)
    lines = [
        f"Sweep of {len(points)} points in {len(turns)} turn(s); engines of a turn run together"
    ]
    for number, turn in enumerate(turns, start=1):
        engines = engines_of(turn)
        at_once = count_at_once(turn, cpus=cpus - sum(engine.cpus for engine in engines))
        lines.append(f"  turn {number}: {len(turn)} point(s), {at_once} side by side")
        lines += [f"    engine   {_engine(engine)}" for engine in engines]
        lines += [f"    point    {point.name}  ({_point(point)})" for point in turn]
    return "\n".join(lines)


def _engine(engine: Engine) -> str:
    section = engine.config.engine
    return (
        f"{section.replicas} replica(s) of {engine.config.model.label},"
        f" {engine.cpus:g} CPUs and {engine.gpus:g} GPUs, {engine.batch} requests at a time"
    )


def _point(point: Point) -> str:
    return f"{point.chains} chains of length {point.config.chain.length}"
