import os
import signal
import subprocess
import sys
from pathlib import Path

PARENT = """
import subprocess, sys, time
from serve.orphans import end_children_with_this_process
watch = end_children_with_this_process()
wait = "import time; print('up', flush=True); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", wait])
print(child.pid, flush=True)
time.sleep(600)
"""


def test_a_child_ends_when_its_parent_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as parent:
        assert parent.stdout is not None
        said = {parent.stdout.readline().strip() for _ in range(2)}
        (child,) = said - {"up"}
        assert Path(f"/proc/{child}").exists()
        os.kill(parent.pid, signal.SIGKILL)
        # The child holds the other end of this pipe: it is closed when the child has ended.
        assert parent.stdout.read() == ""
