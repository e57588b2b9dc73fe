"""A point of a sweep in a process of its own: the ``run`` command on the sweep's cluster.

It ends with the process that started it, however that ends: its standard input is a pipe from
there, on which nothing ever comes but the end.
"""

import os
import signal
import sys
import threading

from pipeline import cli

STOP_S = 60.0
"""Longest time for keeping what is done, in seconds."""


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait(STOP_S)
    os._exit(1)


def main() -> int:
    """Run the point whose overrides are the arguments; return its exit status."""
    # A process that was started in the background may have been told to ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    return cli.main(["run", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
