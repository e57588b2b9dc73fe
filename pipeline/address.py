"""Places that are no folder of this machine: what ``pyarrow.fs`` opens, as ``s3://bucket/runs``.

An object appears whole or not at all: an object store's PUT does that, elsewhere it is written
under a temporary name and moved. ``file://`` names a folder like any other and is none of these.
"""

import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow import fs

from conf import UserError

OBJECT_STORES = ("s3", "gcs", "abfs")
AT_ONCE = 16
_HINTS = (
    ("NO_SUCH_BUCKET", "make the bucket first, or mend its name"),
    ("NETWORK_CONNECTION", "check the network and endpoint_override"),
    (
        "ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE|INVALID_CLIENT_TOKEN|HTTP status 403",
        "give credentials that may read and write there, such as AWS_PROFILE, or "
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    ),
    ("", "check the address, the network and the credentials"),
)


def is_address(place: str) -> bool:
    """Tell whether a place is no folder of this machine."""
    return "://" in place and not place.startswith("file://")


def local_path(place: str) -> Path:
    """Return the path of a place on this machine, which may be written ``file://``."""
    return Path(unquote(urlsplit(place).path)) if place.startswith("file://") else Path(place)


@dataclass(frozen=True)
class Address:
    """A folder in some file system. All methods raise UserError when it cannot be reached.

    Args:
        text: a URI as ``pyarrow.fs.FileSystem.from_uri`` takes it, options in its query.
    """

    text: str

    def __str__(self) -> str:
        return self.text

    def __truediv__(self, name: str) -> "Address":
        base, mark, query = self.text.partition("?")
        return Address(f"{base.rstrip('/')}/{name}{mark}{query}")

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.text.partition("?")[0].rstrip("/").rpartition("/")[2]

    def write(self, name: str, content: Any) -> None:
        """Put a file there as a whole, in place of what has this name."""
        system, path = self._opened
        target = f"{path}/{name}"
        with self._reaching():
            if system.type_name in OBJECT_STORES:
                _write(system, target, content)
                return
            parent, _, last = target.rpartition("/")
            system.create_dir(parent, recursive=True)
            _write(system, f"{parent}/.{last}.part", content)
            system.move(f"{parent}/.{last}.part", target)

    def read(self, name: str) -> bytes | None:
        """Return the content of a file; null if there is none of this name."""
        system, path = self._opened
        with self._reaching():
            try:
                with system.open_input_file(f"{path}/{name}") as file:
                    content: bytes = file.read()
            except FileNotFoundError:
                return None
        return content

    def files(self) -> dict[str, int]:
        """Return the names of all files below, relative to here, with their bytes."""
        return {
            name: info.size
            for name, info in self._list(recursive=True)
            if info.type == fs.FileType.File and not _is_hidden(name)
        }

    def folders(self) -> list[str]:
        """Return the names of the folders directly below."""
        found = self._list(recursive=False)
        return sorted(name for name, info in found if info.type == fs.FileType.Directory)

    def move(self, name: str, target: str) -> None:
        """Give a file another name."""
        system, path = self._opened
        with self._reaching():
            system.create_dir(f"{path}/{target}".rpartition("/")[0], recursive=True)
            system.move(f"{path}/{name}", f"{path}/{target}")

    def remove(self, name: str) -> None:
        """Remove a file; there need be none."""
        system, path = self._opened
        with self._reaching():
            try:
                system.delete_file(f"{path}/{name}")
            except FileNotFoundError:
                return

    def download(self, names: Iterable[str], folder: Path) -> None:
        """Copy files into a folder of this machine, under the same names."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for _ in pool.map(lambda name: self._fetch(name, folder / name), names):
                pass

    def _fetch(self, name: str, target: Path) -> None:
        content = self.read(name)
        if content is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)

    def _list(self, *, recursive: bool) -> Iterator[tuple[str, Any]]:
        system, path = self._opened
        selector = fs.FileSelector(path, recursive=recursive, allow_not_found=True)
        with self._reaching():
            found = system.get_file_info(selector)
        for info in found:
            yield info.path.removeprefix(path).lstrip("/"), info

    @cached_property
    def _opened(self) -> tuple[Any, str]:
        """The file system, and the path in it."""
        if "@" in urlsplit(self.text).netloc or re.search(r"[?&](access|secret)_key=", self.text):
            raise UserError(
                f"the {self.text.partition(':')[0]} address holds credentials, which would be "
                "written into the run; give them by AWS_PROFILE, or by AWS_ACCESS_KEY_ID and "
                "AWS_SECRET_ACCESS_KEY"
            )
        with self._reaching():
            system, path = fs.FileSystem.from_uri(self.text)
        return system, path.rstrip("/")

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        """Turn what file systems raise into the one line that a user can act on."""
        try:
            yield
        except (OSError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            reason = re.sub(r" \(Request ID: .*", "", str(error).splitlines()[0])
            hint = next(hint for pattern, hint in _HINTS if re.search(pattern, reason))
            raise UserError(f"{self.text}: {reason}; {hint}") from error


def _write(system: Any, path: str, content: Any) -> None:
    with system.open_output_stream(path) as stream:
        stream.write(content)


def _is_hidden(name: str) -> bool:
    return name.rpartition("/")[2].startswith(".")
