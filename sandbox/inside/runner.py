"""The program's child: load the program, make the calls, write what came of them.

Everything here runs beside the untrusted program, in one interpreter, and may be tampered with by
it. Nothing depends on its honesty: it holds no expected value, makes no verdict and can reach
nothing but its own result area. Names that the calls need are bound before the program is loaded,
so that a program which patches a module by accident still gets its outputs reported.
"""

from collections.abc import Callable
from marshal import loads
from mmap import mmap
from sys import modules
from time import thread_time
from types import ModuleType
from typing import Any, Protocol

from sandbox.encoding import MAX_BYTES, MAX_DEPTH, MAX_NODES, Encoder, Unencodable, encode_exception
from sandbox.inside.frames import Code, Full, Writer
from sandbox.inside.job import Fields, Task, arguments
from sandbox.inside.quiet import HELD_BACK, Streams


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

_FILE_NAME = f"<{MODULE_NAME}>"

# An enum's member is found by running Python code, which would run in every child.
_LOADED, _SYNTAX = int(Code.LOADED), int(Code.SYNTAX)
_LOAD_ERROR, _LOAD_MEMORY = int(Code.LOAD_ERROR), int(Code.LOAD_MEMORY)
_VALUE, _ERROR, _MEMORY = int(Code.VALUE), int(Code.ERROR), int(Code.MEMORY)
_OUTPUT, _UNENCODABLE, _NO_ARGS = int(Code.OUTPUT), int(Code.UNENCODABLE), int(Code.NO_ARGS)
_END, _FULL = int(Code.END), int(Code.FULL)

_encoder = Encoder(MAX_BYTES, MAX_NODES, MAX_DEPTH)


def perform(
    task: Fields,
    out: Writer,
    streams: Streams,
    namespace: dict[str, Any],
    server: Server | None = None,
) -> None:
    """Do the whole task.

    Args:
        task: As a plain tuple, which costs a child less than a ``Task``.
        out: Takes what comes of it.
        streams: The standard streams.
        namespace: Of the module that the program becomes.
        server: Makes the calls of checks.
    """
    program, entry_point, calls, seed, most_printed, most_encoded = task
    write = out.write
    seeded = "random" in program
    try:
        function = _load(program, entry_point, seed if seeded else None, namespace, out)
        if function is not None:
            for index, given in calls:
                if given is None:
                    if server is not None:
                        server.serve(function, index, Task(*task), out, streams)
                    continue
                started = thread_time()
                try:
                    call = loads(given) if type(given) is bytes else given
                    args, kwargs = call if type(call) is tuple else eval(call, {"_": _collect})
                except BaseException as error:
                    code, body = _NO_ARGS, describe(error)
                else:
                    if seeded:
                        seed_generators(program, seed)
                    code, body = attempt(
                        function, args, kwargs, most_printed, most_encoded, streams
                    )
                write(code, index, thread_time() - started, body)
        write(_END, 0, 0.0, "")
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


def new_module() -> dict[str, Any]:
    """Make the module that a program becomes, ready for the next child, and give its namespace."""
    modules[MODULE_NAME] = module = ModuleType(MODULE_NAME)
    return module.__dict__


def warm_up(streams: Streams, area: mmap) -> None:
    """Work through a sample before the forks.

    The interpreter writes into code that runs for the first times (specialisation), into caches
    and into free lists; what it writes here, no child has to copy for the same purpose.
    """
    sources = ["[3, 4, 8, 4]", "[0]", "[1, 2], 'x' * 9", "[], text='abc'"] * 8
    calls = tuple((i, arguments(source)) for i, source in enumerate(sources))
    task = Task(_SAMPLE, "sample", calls, 0, 100_000, 100_000)
    for _ in range(3):
        perform(task, Writer(area), streams, new_module())
        del modules[MODULE_NAME]
        area[:] = bytes(len(area))


def _load(
    program: str, entry_point: str, seed: int | None, namespace: dict[str, Any], out: Writer
) -> Callable[..., Any] | None:
    """Load the program and give its entry point, or say why there is none."""
    code, body = _LOADED, ""
    try:
        compiled = compile(program, _FILE_NAME, "exec", dont_inherit=True)
    except MemoryError:
        code = _LOAD_MEMORY
    except (SyntaxError, ValueError, RecursionError, OverflowError) as error:
        code, body = _SYNTAX, describe(error)
    else:
        if seed is not None:
            seed_generators(program, seed)
        try:
            exec(compiled, namespace)
            if entry_point not in namespace:
                raise NameError(f"the program does not define {entry_point!r}")
        except MemoryError:
            code = _LOAD_MEMORY
        except BaseException as error:
            code, body = _LOAD_ERROR, describe(error)
    out.write(code, 0, thread_time(), body)
    if code != _LOADED:
        return None
    return namespace[entry_point]  # type: ignore[no-any-return]  # whatever it is


def _collect(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, kwargs


def attempt(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    most_printed: int,
    most_encoded: int,
    streams: Streams,
) -> tuple[int, str]:
    """Make one call and encode what came of it.

    Args:
        function: The program's entry point.
        args: Its arguments.
        kwargs: Its named arguments.
        most_printed: Bytes that the call may print.
        most_encoded: Bytes that the value's encoding may have.
        streams: Count what is printed.

    Returns:
        A frame's code and body.
    """
    taken = streams.taken
    taken[0] = 0
    try:
        value = function(*args, **kwargs)
        _encoder.begin(most_encoded)
        code, body = _VALUE, _encoder.text(value)
        if len(body) > most_encoded:
            raise Unencodable(f"more than {most_encoded} bytes")
    except MemoryError:
        code, body = _MEMORY, ""
    except Unencodable as error:
        code, body = _UNENCODABLE, str(error)
    except BaseException as error:
        code, body = _ERROR, describe(error)
    if taken[0] + HELD_BACK > most_printed and (printed := streams.printed()) > most_printed:
        return _OUTPUT, f"printed {printed} bytes, at most {most_printed} are allowed"
    return code, body


def seed_generators(source: str, seed: int) -> None:
    """Fix the random generators that a source can have meant to use, if it names any."""
    if "random" not in source:
        return
    import random

    random.seed(seed)
    numpy = modules.get("numpy")
    if numpy is not None and "numpy" in source:
        numpy.random.seed(seed % 2**32)


def describe(error: BaseException) -> str:
    """The exception's encoding, whatever its own methods do."""
    try:
        return encode_exception(error)
    except BaseException:
        return encode_exception(RuntimeError("an exception that cannot be shown"))
