"""An S3-compatible server on loopback."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pyarrow import fs

PATIENCE_S = 120
POLL_S = 0.1
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "tests",
    "AWS_SECRET_ACCESS_KEY": "tests",
    "AWS_EC2_METADATA_DISABLED": "true",
}
BUCKET = "bucket"


@contextmanager
def object_store() -> Iterator[str]:
    """Run a server with one bucket, and yield the query that every address there has."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        env=os.environ | CREDENTIALS,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(port, server)
        query = f"?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
        system, path = fs.FileSystem.from_uri(f"s3://{BUCKET}{query}&allow_bucket_creation=true")
        system.create_dir(path)
        yield query
    finally:
        server.kill()
        server.wait()


def _wait_for(port: int, server: subprocess.Popen) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        assert server.poll() is None, "the server ended"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < deadline, "the server never answered"
            time.sleep(POLL_S)
        else:
            return
