"""What a replica has started ends with it, however the replica ends.

vLLM's core is a process of its own which holds the device's memory, and it does not notice that its
parent was killed, by the kernel or by Ray when memory runs short. The next replica would then find
the device full. So the replica leads a process group, which its children are born into, and a small
process outside that group ends it once the leader is gone.
"""

import os
import subprocess
import sys

_WATCH = """
import os, signal, sys, time
leader = int(sys.argv[1])
while os.getppid() == leader:
    time.sleep(0.5)
try:
    os.killpg(leader, signal.SIGKILL)
except ProcessLookupError:
    pass
"""


def end_children_with_this_process() -> "subprocess.Popen[bytes]":
    """Have what this process starts from here on ended when it has ended.

    Returns:
        The process that watches; to be kept as long as this one lives.
    """
    leader = os.getpid()
    if os.getpgid(0) != leader:
        os.setpgid(0, 0)
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _WATCH, str(leader)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
