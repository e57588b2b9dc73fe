"""Starting a point's process, and what became of it."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pipeline.sweep.points import Point

INTERRUPTED = 130


@dataclass
class PointProcess:
    """A point that runs."""

    point: Point
    process: subprocess.Popen[bytes]
    output: Path

    @classmethod
    def start(
        cls, point: Point, words: list[str], output: Path, environment: dict[str, str]
    ) -> Self:
        """Start the point.

        Args:
            point: to run.
            words: its command line.
            output: file that gets what it prints.
            environment: variables beside those of this process.
        """
        with output.open("ab") as file:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "pipeline.sweep.child", *words],
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=os.environ | environment,
                # An interrupt from the terminal reaches it through its pipe, and only once.
                start_new_session=True,
            )
        return cls(point, process, output)

    @property
    def is_over(self) -> bool:
        """Whether the process has ended."""
        return self.process.poll() is not None

    def stop(self) -> None:
        """Tell it to keep what is done and end."""
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()

    def failure(self) -> str | None:
        """Return why it failed; null if it did not. It must have ended."""
        status = self.process.wait()
        self.stop()
        if status == 0:
            return None
        if status == INTERRUPTED:
            return "interrupted"
        lines = self.output.read_text(errors="replace").splitlines()
        told = [line.strip() for line in lines if line.strip()]
        why = told[-1].removeprefix("holdtrue: ") if told else "it printed nothing"
        return why if status > 0 else f"ended by signal {-status}"
