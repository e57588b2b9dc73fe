"""The proof of a level: a locked-down child tries what programs must not be able to do.

Each act is tried for real. An act is refused when it raises an error of the system; anything else
is a hole, and the child says so. The owner checks the other end of some acts itself: whether a
connection arrived, a file appeared.
"""

import _socket
import _thread
import ctypes
import json
import mmap
import os
import resource
from collections.abc import Callable
from time import thread_time

from sandbox.inside.frames import Code, Writer
from sandbox.inside.job import Task

REFUSED, DONE, BROKE = "refused", "done", "broke"


def run(task: Task, out: Writer) -> None:
    """Try every act and write one JSON list of (act, what happened, detail)."""
    scene = json.loads(task.program)
    results = [[name, *_try(act, scene)] for name, act in ACTS.items()]
    out.write(Code.VALUE, 0, thread_time(), json.dumps(results))
    out.close(Code.END)
    os._exit(0)


def _try(act: Callable[[dict[str, str]], object], scene: dict[str, str]) -> tuple[str, str]:
    try:
        return DONE, str(act(scene) or "")[:200]
    except (OSError, ImportError, MemoryError, ValueError) as error:
        return REFUSED, f"{type(error).__name__}: {error}"[:200]
    except Exception as error:
        return BROKE, f"{type(error).__name__}: {error}"[:200]


def _fork(_: dict[str, str]) -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _execute(_: dict[str, str]) -> None:
    try:
        os.execv("/no/such/program", ["program"])
    except FileNotFoundError:
        return  # it was looked for, so nothing forbids it


def _read(path: str) -> int:
    with open(path, "rb") as file:
        return len(file.read(64))


def _write(scene: dict[str, str]) -> None:
    with open(scene["new_file"], "w") as file:
        file.write("x")


def _kill(pid: int) -> None:
    os.kill(pid, 0)


def _trace(scene: dict[str, str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    seize = 0x4206  # attaches without a stop, and lets go when this process ends
    if libc.ptrace(seize, int(scene["owner"]), None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def _connect(scene: dict[str, str]) -> None:
    client = _socket.socket()
    client.connect(("127.0.0.1", int(scene["port"])))
    client.close()


def _abstract(scene: dict[str, str]) -> None:
    client = _socket.socket(_socket.AF_UNIX)
    client.connect("\0" + scene["abstract"])
    client.close()


def _raise_limit(_: dict[str, str]) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (1, 1))


def _exhaust(_: dict[str, str]) -> None:
    mmap.mmap(-1, 1 << 40)


def _memory_file(_: dict[str, str]) -> None:
    os.close(os.memfd_create("x"))


def _namespace(_: dict[str, str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x10000000) != 0:
        raise OSError(ctypes.get_errno(), "unshare")


def _import(_: dict[str, str]) -> str:
    import wave  # not among the modules loaded beforehand where files can be opened

    return wave.__name__


def _start_thread(_: dict[str, str]) -> None:
    done = _thread.allocate_lock()
    done.acquire()
    _thread.start_new_thread(done.release, ())
    done.acquire()


def _memory(_: dict[str, str]) -> None:
    bytearray(32 << 20)


ACTS: dict[str, Callable[[dict[str, str]], object]] = {
    "fork a process": _fork,
    "run another program": _execute,
    "read a file of the host": lambda scene: _read(scene["canary"]),
    "see that a file of the host exists": lambda scene: os.stat(scene["canary"]).st_size,
    "list a directory of the host": lambda scene: os.listdir(scene["folder"]),
    "read the environment of its owner": lambda scene: _read(f"/proc/{scene['owner']}/environ"),
    "read its own environment": lambda _: _read("/proc/self/environ"),
    "write a new file": _write,
    "make a directory": lambda scene: os.mkdir(scene["new_folder"]),
    "delete a file of the host": lambda scene: os.unlink(scene["canary"]),
    "signal its owner": lambda scene: _kill(int(scene["owner"])),
    "signal its parent": lambda _: _kill(os.getppid()),
    "signal everyone": lambda _: _kill(-1),
    "trace its owner": _trace,
    "connect by TCP": _connect,
    "connect to an abstract socket": _abstract,
    "raise a limit": _raise_limit,
    "take a terabyte": _exhaust,
    "make a memory file": _memory_file,
    "enter a new namespace": _namespace,
    "import a module": _import,
    "start a thread": _start_thread,
    "take some memory": _memory,
}
"""What is tried; the last three must succeed, or right programs would fail."""
