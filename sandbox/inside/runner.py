"""The program's child: load the program, make the calls, write what came of them.

Everything here runs beside the untrusted program, in one interpreter, and may be tampered with by
it. Nothing depends on its honesty: it holds no expected value, makes no verdict and can reach
nothing but its own result area. Names that the calls need are bound before the program is loaded,
so that a program which patches a module by accident still gets its outputs reported.
"""

import gc
import os
import sys
from collections.abc import Callable
from mmap import mmap
from time import thread_time
from types import CodeType, ModuleType
from typing import Any, Protocol

from sandbox.encoding import Unencodable, encode, encode_exception
from sandbox.inside.frames import Code, Full, Writer
from sandbox.inside.job import Task
from sandbox.inside.quiet import Streams


class Server(Protocol):
    """Makes the calls of a check; see ``serving``."""

    def serve(
        self,
        function: Callable[..., Any],
        index: int,
        task: Task,
        out: Writer,
        streams: Streams,
    ) -> None:
        """Answer the calls of one check."""


MODULE_NAME = "program"
"""Not ``__main__``: a program's main guard stays shut."""

_exit = os._exit


def run(task: Task, out: Writer, streams: Streams, server: Server | None = None) -> None:
    """Do the whole task and end the process."""
    perform(task, out, streams, server)
    _exit(0)


def perform(task: Task, out: Writer, streams: Streams, server: Server | None = None) -> None:
    """Do the whole task."""
    try:
        _seed(task)
        function = _load(task, out)
        if function is not None:
            for index, source in task.calls:
                if source is not None:
                    _call(function, index, source, task, out, streams)
                elif server is not None:
                    server.serve(function, index, task, out, streams)
        out.close(Code.END)
    except Full:
        out.close(Code.FULL)


_SAMPLE = """
from typing import List, Optional
import math, re

class Point:
    def __init__(self, x: int, y: float = 0.5):
        self.x, self.y = x, y

def sample(values: List[int], text: str = "a b") -> Optional[dict]:
    'A program like many.'
    found, seen = {}, set()
    for i, value in enumerate(sorted(values)):
        if value % 2 == 0 and value not in seen or value < 0:
            found[str(value)] = [v * 2.5 for v in range(value) if v > 1]
        elif not value:
            raise ValueError(f"bad {value!r}")
        seen.add(value)
    while len(text) > 3:
        text = text[1:].upper().replace("A", "b")
    return {k: (max(v, default=0), sum(v), text.split()) for k, v in found.items()}
"""


def warm_up(streams: Streams, area: mmap) -> None:
    """Work through a sample before the forks.

    The interpreter writes into code that runs for the first times (specialisation), into caches
    and into free lists; what it writes here, no child has to copy for the same purpose.
    """
    calls = tuple(enumerate(["[3, 4, 8, 4]", "[0]", "[1, 2], 'x' * 9", "[], text='abc'"] * 8))
    task = Task(_SAMPLE, "sample", calls, 0, 0, 0, 1000, 100_000)
    for _ in range(3):
        perform(task, Writer(area), streams)
        del sys.modules[MODULE_NAME]
        area[:] = bytes(len(area))


def _seed(task: Task) -> None:
    """Fix the random generators that the program can have meant to use."""
    if "random" not in task.program:
        return
    import random

    random.seed(task.seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None and "numpy" in task.program:
        numpy.random.seed(task.seed % 2**32)


def _load(task: Task, out: Writer) -> Callable[..., Any] | None:
    code = _compile(task, out)
    if code is None:
        return None
    module = ModuleType(MODULE_NAME)
    sys.modules[MODULE_NAME] = module
    namespace = module.__dict__
    gc.enable()
    try:
        exec(code, namespace)
        if task.entry_point not in namespace:
            raise NameError(f"the program does not define {task.entry_point!r}")
    except MemoryError:
        out.write(Code.LOAD_MEMORY, 0, thread_time(), "")
    except BaseException as error:
        out.write(Code.LOAD_ERROR, 0, thread_time(), describe(error))
    else:
        out.write(Code.LOADED, 0, thread_time(), "")
        return namespace[task.entry_point]  # type: ignore[no-any-return]  # whatever it is
    return None


def _compile(task: Task, out: Writer) -> CodeType | None:
    try:
        return compile(task.program, f"<{MODULE_NAME}>", "exec", dont_inherit=True)
    except MemoryError:
        out.write(Code.LOAD_MEMORY, 0, thread_time(), "")
    except (SyntaxError, ValueError, RecursionError, OverflowError) as error:
        out.write(Code.SYNTAX, 0, thread_time(), describe(error))
    return None


def _call(
    function: Callable[..., Any],
    index: int,
    source: str,
    task: Task,
    out: Writer,
    streams: Streams,
) -> None:
    started = thread_time()
    try:
        args, kwargs = eval(f"_({source}\n)", {"_": _collect})
    except BaseException as error:
        code, body = Code.NO_ARGS, describe(error)
    else:
        _seed(task)
        code, body = attempt(function, args, kwargs, task, streams)
    out.write(code, index, thread_time() - started, body)


def _collect(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, kwargs


def attempt(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    task: Task,
    streams: Streams,
) -> tuple[Code, str]:
    """Make one call and encode what came of it."""
    streams.start()
    try:
        value = function(*args, **kwargs)
        code, body = Code.VALUE, encode(value, max_bytes=task.encoding_bytes)
    except MemoryError:
        code, body = Code.MEMORY, ""
    except Unencodable as error:
        code, body = Code.UNENCODABLE, str(error)
    except BaseException as error:
        code, body = Code.ERROR, describe(error)
    printed = streams.printed()
    if printed > task.output_bytes:
        return Code.OUTPUT, f"printed {printed} bytes, at most {task.output_bytes} are allowed"
    return code, body


def describe(error: BaseException) -> str:
    """The exception's encoding, whatever its own methods do."""
    try:
        return encode_exception(error)
    except BaseException:
        return encode_exception(RuntimeError("an exception that cannot be shown"))
