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
from types import ModuleType
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

# An enum's member is found by running Python code, which would run in every child.
_LOADED, _SYNTAX = int(Code.LOADED), int(Code.SYNTAX)
_LOAD_ERROR, _LOAD_MEMORY = int(Code.LOAD_ERROR), int(Code.LOAD_MEMORY)
_VALUE, _ERROR, _MEMORY = int(Code.VALUE), int(Code.ERROR), int(Code.MEMORY)
_OUTPUT, _UNENCODABLE, _NO_ARGS = int(Code.OUTPUT), int(Code.UNENCODABLE), int(Code.NO_ARGS)
_END, _FULL = int(Code.END), int(Code.FULL)


def run(task: Task, out: Writer, streams: Streams, server: Server | None = None) -> None:
    """Do the whole task and end the process."""
    perform(task, out, streams, server)
    _exit(0)


def perform(task: Task, out: Writer, streams: Streams, server: Server | None = None) -> None:
    """Do the whole task."""
    try:
        function = _load(task, out)
        if function is not None:
            for index, source in task.calls:
                if source is None:
                    if server is not None:
                        server.serve(function, index, task, out, streams)
                    continue
                started = thread_time()
                try:
                    args, kwargs = eval(f"_({source}\n)", {"_": _collect})
                except BaseException as error:
                    code, body = _NO_ARGS, describe(error)
                else:
                    code, body = attempt(function, args, kwargs, task, streams)
                out.write(code, index, thread_time() - started, body)
        out.close(_END)
    except Full:
        out.close(_FULL)


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


def _load(task: Task, out: Writer) -> Callable[..., Any] | None:
    """Load the program and give its entry point, or say why there is none."""
    code, body = _LOADED, ""
    try:
        program = compile(task.program, f"<{MODULE_NAME}>", "exec", dont_inherit=True)
    except MemoryError:
        code = _LOAD_MEMORY
    except (SyntaxError, ValueError, RecursionError, OverflowError) as error:
        code, body = _SYNTAX, describe(error)
    else:
        sys.modules[MODULE_NAME] = module = ModuleType(MODULE_NAME)
        namespace = module.__dict__
        if "random" in task.program:
            _seed(task)
        gc.enable()
        try:
            exec(program, namespace)
            if task.entry_point not in namespace:
                raise NameError(f"the program does not define {task.entry_point!r}")
        except MemoryError:
            code = _LOAD_MEMORY
        except BaseException as error:
            code, body = _LOAD_ERROR, describe(error)
    out.write(code, 0, thread_time(), body)
    if code != _LOADED:
        return None
    return namespace[task.entry_point]  # type: ignore[no-any-return]  # whatever it is


def _collect(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, kwargs


def attempt(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    task: Task,
    streams: Streams,
) -> tuple[int, str]:
    """Make one call and encode what came of it."""
    if "random" in task.program:
        _seed(task)
    streams.taken = 0
    try:
        value = function(*args, **kwargs)
        code, body = _VALUE, encode(value, max_bytes=task.encoding_bytes)
    except MemoryError:
        code, body = _MEMORY, ""
    except Unencodable as error:
        code, body = _UNENCODABLE, str(error)
    except BaseException as error:
        code, body = _ERROR, describe(error)
    streams.drain()
    if streams.taken > task.output_bytes:
        body = f"printed {streams.taken} bytes, at most {task.output_bytes} are allowed"
        return _OUTPUT, body
    return code, body


def _seed(task: Task) -> None:
    """Fix the random generators that the program can have meant to use."""
    import random

    random.seed(task.seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None and "numpy" in task.program:
        numpy.random.seed(task.seed % 2**32)


def describe(error: BaseException) -> str:
    """The exception's encoding, whatever its own methods do."""
    try:
        return encode_exception(error)
    except BaseException:
        return encode_exception(RuntimeError("an exception that cannot be shown"))
