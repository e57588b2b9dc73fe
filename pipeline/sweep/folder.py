"""The folder of a sweep: what it is made of, its points' run folders, and what each came to."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from conf import UserError
from pipeline.runfolder import BEGINNING, SWEEP, RunFolder, make_free_folder
from pipeline.status import is_finished
from pipeline.sweep.points import Point

RESULTS = "results.json"
FORMAT = 1


class SweepFolder:
    """Where a sweep keeps everything."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, runs_dir: Path, name: str, words: Sequence[str]) -> "SweepFolder":
        """Make a new folder ``<time>-<name>-sweep``.

        Raises:
            UserError: the place cannot be written.
        """
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        try:
            runs_dir.mkdir(parents=True, exist_ok=True)
            path = make_free_folder(runs_dir, f"{stamp}-{name}-sweep")
            for inner in ("logs", "output"):
                (path / inner).mkdir()
        except OSError as error:
            raise UserError(f"cannot write under {runs_dir}: {error.strerror}") from error
        folder = cls(path)
        folder._write(SWEEP, {"format": FORMAT, "words": list(words)})
        return folder

    @classmethod
    def open(cls, path: Path) -> "SweepFolder":
        """Open the folder of a sweep.

        Raises:
            UserError: there is no sweep at this path.
        """
        if not is_sweep_folder(path):
            raise UserError(f"resume={path}: no sweep there (no {SWEEP})")
        return cls(path)

    @classmethod
    def find_unfinished(cls, runs_dir: Path, words: Sequence[str]) -> "SweepFolder | None":
        """Return the newest sweep of the same words of which a point is still to be made."""
        for beginning in sorted(runs_dir.glob(f"*/{SWEEP}"), reverse=True):
            folder = cls(beginning.parent)
            if folder.words == list(words) and not folder.is_finished:
                return folder
        return None

    @property
    def words(self) -> list[str]:
        """The overrides that the sweep was started with."""
        found: list[str] = json.loads((self.path / SWEEP).read_text())["words"]
        return found

    @property
    def is_finished(self) -> bool:
        """Whether every point has been made."""
        path = self.path / RESULTS
        return path.is_file() and all(
            point["finished"] for point in json.loads(path.read_text())["points"]
        )

    def run_of(self, point: Point) -> RunFolder | None:
        """Return the newest folder of a point that can be gone on with, or is finished."""
        found = sorted(self.path.glob(f"*-{point.name}/{BEGINNING}"))
        return RunFolder(found[-1].parent) if found else None

    def has_finished(self, point: Point) -> bool:
        """Tell whether a point came to its end and has its scores."""
        run = self.run_of(point)
        return run is not None and is_finished(run) and run.has("metrics.json")

    def metrics_of(self, point: Point) -> dict[str, Any] | None:
        """Return a point's scores, also those of a part that a budget allowed; null: none yet."""
        run = self.run_of(point)
        if run is None or not run.has("metrics.json"):
            return None
        metrics: dict[str, Any] = run.read_json("metrics.json")
        return metrics

    def output_of(self, point: Point) -> Path:
        """Return the file of what a point prints."""
        return self.path / "output" / f"{point.name}.txt"

    def write_results(self, points: Sequence[Point], failures: dict[str, str]) -> list[Any]:
        """Write down what all points came to, and return it: the content of ``results.json``."""
        rows = [
            {
                "name": point.name,
                "chosen": point.chosen,
                "run": run.path.name if (run := self.run_of(point)) else None,
                "finished": self.has_finished(point),
                "failure": failures.get(point.name),
                "metrics": self.metrics_of(point),
            }
            for point in sorted(points, key=lambda point: point.name)
        ]
        self._write(RESULTS, {"format": FORMAT, "points": rows})
        return rows

    def _write(self, name: str, content: Any) -> None:
        RunFolder(self.path).write_json(name, content)


def is_sweep_folder(path: Path) -> bool:
    """Tell whether a sweep lies at a path."""
    return (path / SWEEP).is_file()
