"""A head and two nodes as processes of this machine; removes a node when it is told to.

Prints the cluster's address, then for each line ``remove PID`` on its input removes the node whose
raylet has that process id.
"""

import logging
import sys
import time

from ray.cluster_utils import Cluster

STORE_BYTES = 100 * 2**20
STARTS = 2


def start() -> Cluster:
    head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": STORE_BYTES}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(2):
        cluster.add_node(num_cpus=2, object_store_memory=STORE_BYTES)
    return cluster


def start_patiently() -> Cluster:
    """Start the nodes; once more if the machine was too busy for Ray's deadline."""
    for _ in range(STARTS - 1):
        try:
            return start()
        except Exception:
            logging.exception("the nodes did not start")
            time.sleep(1)
    return start()


def main() -> None:
    cluster = start_patiently()
    print(cluster.address, flush=True)
    for line in sys.stdin:
        pid = int(line.split()[1])
        (node,) = [
            node
            for node in cluster.worker_nodes
            for process in node.all_processes["raylet"]
            if process.process.pid == pid
        ]
        cluster.remove_node(node, allow_graceful=False)
        print("removed", flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main()
