"""What a command of the command line is."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """One command and its help."""

    summary: str
    help: str
    act: Callable[[list[str]], int]
    """Takes the words after the command's name, returns the exit status."""
