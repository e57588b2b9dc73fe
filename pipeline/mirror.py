"""A run folder at an address: worked in on this machine, kept there.

What a run builds on is there before it is built on: journal segments before an answer is handed on
(``pipeline/journal.py``), shards and JSON files as they are published. Logs and live figures follow
every half minute, and at the end. So nothing on this machine is needed to go on, and each start
begins by copying what is there: the address is the run, the folder here is not.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conf import UserError
from pipeline.address import Address
from pipeline.lease import BEAT_S, LEASE, Lease

BEATS_A_COPY = 6
log = logging.getLogger(__name__)


class Mirror:
    """Keeps the files of a working folder at an address. For one process.

    Args:
        folder: on this machine.
        address: of the run.
        lease: the right to write there.
        published: names of the sub-folders whose files are published one by one.
    """

    def __init__(
        self, folder: Path, address: Address, lease: Lease, *, published: frozenset[str]
    ) -> None:
        self.address = address
        self._folder = folder
        self._lease = lease
        self._published = published
        self._kept: dict[str, tuple[int, int]] = {}
        self._is_owner = True
        self._is_whole = False
        self._stop = threading.Event()

    def _restore(self) -> None:
        names = [name for name in self.address.files() if name != LEASE]
        self.address.download(names, self._folder)
        self._kept |= {name: _version(self._folder / name) for name in names}

    def publish(self, path: Path) -> None:
        """Put a file of the folder there.

        Raises:
            UserError: it cannot be written, or another process works there by now.
        """
        if not self._is_owner:
            raise UserError(f"{self.address}: another process has taken this run over")
        name = str(path.relative_to(self._folder))
        version = _version(path)
        self.address.write(name, path.read_bytes())
        self._kept[name] = version

    def move(self, path: Path, target: Path) -> None:
        """Give a file that is there another name."""
        relative = (str(each.relative_to(self._folder)) for each in (path, target))
        self.address.move(*relative)

    @contextmanager
    def following(self, *, restores: bool) -> Iterator[None]:
        """Hold the lease and copy logs and figures while the block runs, and all at its end.

        Args:
            restores: begin by copying what is there into the folder.
        """
        thread = threading.Thread(target=self._follow, name="mirror", daemon=True)
        thread.start()
        try:
            if restores:
                self._restore()
            self._is_whole = True
            yield
        finally:
            self._stop.set()
            thread.join()
            if self._is_whole:
                self._publish_rest()
            self._lease.release()

    def _follow(self) -> None:
        beats = 0
        while not self._stop.wait(BEAT_S):
            beats += 1
            try:
                self._is_owner = self._lease.beat()
                if not self._is_owner:
                    return
                if self._is_whole and beats % BEATS_A_COPY == 0:
                    self._publish_rest()
            except UserError as error:
                # What the run needs to have there says so itself; the next beat tries again.
                log.warning("%s", error)

    def _publish_rest(self) -> None:
        for path in sorted(self._folder.rglob("*")):
            name = path.relative_to(self._folder)
            if name.parts[0] in self._published or path.name.startswith(".") or not path.is_file():
                continue
            try:
                if self._kept.get(str(name)) != _version(path):
                    self.publish(path)
            except FileNotFoundError:
                continue  # some library's temporary file


def _version(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size
