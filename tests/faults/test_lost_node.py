"""A node that is removed in the middle of a run, with what ran on it."""

import subprocess
import sys
from pathlib import Path

import pytest
from drivers import assert_same_tables, start_driver, wait_until
from strikes import Ledger, processes

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600)]

# A sandbox actor on each node; the lost one finds no CPUs for its next life.
WORDS = ("engine.replicas=2", "sandbox.actors=2", "cluster.sandbox_cpus=1.5", "stall_minutes=2")


@pytest.fixture
def nodes():
    """The process that keeps a head and two nodes."""
    script = Path(__file__).with_name("two_nodes.py")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, str(script)], **pipes) as keeper:
        yield keeper
        keeper.stdin.close()


def test_a_run_that_loses_a_node_makes_the_same_tables_and_pays_once(undisturbed, place, nodes):
    address = nodes.stdout.readline().strip()
    ledger = Ledger(place)
    driver = start_driver(place.words(*WORDS), place.console, address)
    wait_until(lambda: len(place.recorded()) >= 14, driver, place.console)
    struck = min(homes("ray::ServeReplica") & homes("ray::SandboxActor"))
    ledger.note()
    print("remove", struck, file=nodes.stdin, flush=True)
    assert nodes.stdout.readline() == "removed\n"
    driver.wait()
    assert driver.returncode == 0, place.console.read_text()[-3000:]
    ledger.check()
    assert_same_tables(place.run, undisturbed)


def homes(word):
    """The raylets of the nodes on which there is such a process."""
    raylets = processes("/raylet/raylet ")
    parents = {parent(pid) for pid in processes(word)}
    return parents & raylets


def parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
