"""The ``run -m`` command: all points of a sweep on one cluster, with one set of engines.

Points are processes of their own, so that whatever ends one ends no other. This process starts the
cluster and the engines, which the points find running; it gives each point its share of the CPUs,
and at the end reads what their folders hold. It keeps nothing in memory that a folder does not
have: a sweep that was killed goes on by the same words.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from analysis.sweep_table import render_sweep
from conf import UserError
from pipeline.address import is_address, local_path
from pipeline.cluster import ray_cluster
from pipeline.compose import load_config
from pipeline.console import captured_output
from pipeline.sweep.display import SweepDisplay
from pipeline.sweep.engines import Engines
from pipeline.sweep.folder import SweepFolder, is_sweep_folder
from pipeline.sweep.points import (
    Point,
    arrange,
    count_at_once,
    engines_of,
    make_points,
    next_point,
    share_words,
)
from pipeline.sweep.process import PointProcess
from pipeline.sweep.shared import SharedKeeper

INTERRUPTED = 130
SOME_FAILED = 1
POLL_S = 0.2
FLAGS = ("-m", "--multirun")


def is_sweep(words: Sequence[str]) -> bool:
    """Tell whether a command line asks for a sweep, or to go on with one."""
    resumed = [word.partition("=")[2] for word in words if word.startswith("resume=")]
    return any(flag in words for flag in FLAGS) or any(is_sweep_folder(Path(p)) for p in resumed)


def sweep(words: Sequence[str]) -> int:
    """Run all points of a sweep, or go on with one; return the exit status.

    Raises:
        UserError: anything that the user can mend.
    """
    folder, overrides = _find(words)
    points = make_points(overrides)
    if folder is None:
        first = points[0].config
        if is_address(first.runs_dir):
            raise UserError(f"runs_dir={first.runs_dir}: a sweep needs a folder of this machine")
        folder = SweepFolder.create(local_path(first.runs_dir), first.name, overrides)
    with captured_output(folder.path / "run.log") as console:
        return SweepJob(folder, points, console).run()


def _find(words: Sequence[str]) -> tuple[SweepFolder | None, list[str]]:
    """Return the folder to go on with, if there is one, and the overrides of the sweep."""
    overrides = [word for word in words if word not in FLAGS]
    resumed = [word for word in overrides if word.startswith("resume=")]
    if resumed:
        if len(overrides) > 1:
            raise UserError(f"{resumed[0]}: a sweep goes on as it was started; leave the rest out")
        folder = SweepFolder.open(Path(resumed[0].partition("=")[2]))
        return folder, folder.words
    plain = [word for word in overrides if word.startswith(("runs_dir=", "fresh="))]
    asked = load_config(plain)
    return SweepFolder.find_unfinished(local_path(asked.runs_dir), overrides), overrides


@dataclass
class SweepJob:
    """One start of a sweep in its folder."""

    folder: SweepFolder
    points: list[Point]
    console: Console
    failures: dict[str, str] = field(default_factory=dict)
    """Why points failed in this start, by name."""

    def run(self) -> int:
        """Run what is still to be made, show the table and return the exit status."""
        self.console.print(f"sweep folder {self.folder.path}", markup=False)
        self.display = SweepDisplay(self.console, self.folder, len(self.points))
        open_points = [point for point in self.points if not self._is_done(point)]
        try:
            if open_points:
                self._run_all(open_points)
        except KeyboardInterrupt:
            self._report()
            self.console.print(f"\nInterrupted. {self._how_to_go_on()}", markup=False)
            return INTERRUPTED
        self._report()
        if self._done() < len(self.points):
            self.console.print(f"\n{self._how_to_go_on()}", markup=False)
        return SOME_FAILED if self.failures else 0

    def _run_all(self, points: list[Point]) -> None:
        with ray_cluster(points[0].config.cluster) as cpus:
            self.keeper = SharedKeeper()
            engines = Engines(self.folder.path / "logs")
            try:
                for turn in arrange(points, cpus=cpus, gpus=_gpus()):
                    self._run_turn(turn, engines, cpus)
            finally:
                engines.close()

    def _run_turn(self, turn: list[Point], engines: Engines, cpus: float) -> None:
        wanted = engines_of(turn)
        for engine in wanted:
            self.display.say(f"starting an engine for {engine.config.model.label}")
        broken = engines.change_to(wanted)
        for point in turn:
            for engine in point.engines:
                if engine.name in broken:
                    self._fail(point, broken[engine.name])
        able = [point for point in turn if point.name not in self.failures]
        if able:
            left = cpus - sum(engine.cpus for engine in wanted)
            most = count_at_once(able, cpus=left)
            self._run_points(able, most, lambda point: self._start(point, left / most))

    def _run_points(
        self, waiting: list[Point], most: int, start: Callable[[Point], PointProcess]
    ) -> None:
        """Keep as many points running as may be, until none is left."""
        running: list[PointProcess] = []
        try:
            while waiting or running:
                now = [each.point for each in running]
                while point := next_point(waiting, now, most=most):
                    waiting.remove(point)
                    running.append(start(point))
                    now.append(point)
                for each in [each for each in running if each.is_over]:
                    running.remove(each)
                    self._collect(each)
                self.display.show(self._done(), [each.point for each in running])
                time.sleep(POLL_S)
        finally:
            for each in running:
                each.stop()
            for each in running:
                self._collect(each)

    def _start(self, point: Point, share: float) -> PointProcess:
        words = [*point.words, *self._handed_on(point), *share_words(point, share)]
        run = self.folder.run_of(point)
        if run is not None:
            words.append(f"resume={run.path}")
        self.display.say(f"{'going on with' if run else 'running'} {point.name}")
        output = self.folder.output_of(point)
        return PointProcess.start(point, words, output, self.keeper.environment)

    def _handed_on(self, point: Point) -> list[str]:
        """Return the overrides that make a run a point of this sweep."""
        words = [f"name='{point.name}'", f"runs_dir='{self.folder.path}'"]
        if point.config.tracking.group is None:
            words.append(f"tracking.group='{self.folder.path.name}'")
        return words

    def _collect(self, ended: PointProcess) -> None:
        failure = ended.failure()
        if run := self.folder.run_of(ended.point):
            self.keeper.forget(run)
        if failure is None:
            self.display.say(f"finished {ended.point.name}")
        else:
            self._fail(ended.point, failure)

    def _fail(self, point: Point, why: str) -> None:
        self.failures[point.name] = why
        self.display.say(f"failed {point.name}: {why}")

    def _is_done(self, point: Point) -> bool:
        return self.folder.has_finished(point)

    def _done(self) -> int:
        return sum(map(self._is_done, self.points))

    def _report(self) -> None:
        rows = self.folder.write_results(self.points, self.failures)
        self.console.print(render_sweep(rows, str(self.folder.path)))

    def _how_to_go_on(self) -> str:
        return (
            f"What is finished is kept; go on with the same command or\n"
            f"  ./launch.sh run resume={self.folder.path}"
        )


def _gpus() -> float:
    import ray

    return float(ray.cluster_resources().get("GPU", 0.0))
