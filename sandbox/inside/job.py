"""A job as the child reads it: plain values, marshalled by the trusted side.

``marshal`` is safe here because the bytes travel from the owner to the child only, between two
processes of one interpreter.
"""

import marshal
from typing import NamedTuple


class Task(NamedTuple):
    """What one child is to do.

    ``calls`` holds (index, source) for each test still to run: of a program's task, the source of
    the argument list, or None where a check drives the calls; of a checker's, the check's source.
    """

    program: str
    entry_point: str
    calls: tuple[tuple[int, str | None], ...]
    seed: int
    memory_bytes: int
    cpu_s: int
    output_bytes: int
    encoding_bytes: int


def dump(task: Task) -> bytes:
    """The bytes for ``load``."""
    return marshal.dumps(tuple(task))


def load(data: bytes) -> Task:
    """The task that ``dump`` wrote."""
    return Task(*marshal.loads(data))
