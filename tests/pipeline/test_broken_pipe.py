import os
import subprocess
import sys

import pytest

from pipeline import cli
from pipeline.commands import Command


def start_without_reader(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command whose output nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return subprocess.run(
            [sys.executable, "-m", "pipeline.cli", *words],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writer)


@pytest.mark.parametrize("words", [["--help"], ["describe"], ["doctor"]])
def test_a_command_whose_reader_has_left_ends_quietly(words):
    done = start_without_reader(*words)
    assert (done.returncode, done.stderr) == (cli.READER_LEFT, "")


def test_another_broken_pipe_is_a_bug(monkeypatch, capfd):
    def act(words: list[str]) -> int:
        raise BrokenPipeError

    monkeypatch.setitem(cli.COMMANDS, "doctor", Command("", "", act))
    with pytest.raises(BrokenPipeError), capfd.disabled():
        cli.main(["doctor"])
