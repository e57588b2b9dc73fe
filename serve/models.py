"""From what the user calls a model to weights that exist, and a name for exactly those weights."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from conf import ModelConfig, RunConfig, UserError
from serve.embedded import PREFIX, embedded_folder

WEIGHT_SUFFIXES = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
TEXT_SUFFIXES = (".json", ".jinja", ".txt", ".model", ".tiktoken", ".py")
"""Configuration, tokenizer, chat template, index of the weights, the model's own code."""
FAKE_IDENTITY = "fake-1"
"""Of the fake engine's answers; changes when they do."""
SAMPLES = 64
SAMPLE_BYTES = 4096


@dataclass(frozen=True)
class ResolvedModel:
    """A model that was found."""

    path: str
    """What the engine loads: a folder, or a hub name."""
    revision: str | None
    """Commit of a hub model; null for a folder."""
    identity: str
    """Digest (32 hexadecimal digits) or commit; see ``folder_identity``."""
    label: str
    """The name to show."""
    source: str
    """``embedded``, ``folder``, ``hub`` or ``fake``."""

    def on_this_node(self, config: ModelConfig) -> "ResolvedModel":
        """Return the same model as another node than the driver finds it.

        Raises:
            UserError: the folder is not there, or the packaged model cannot be had.
        """
        if self.source == "embedded":
            return replace(self, path=str(embedded_folder(config.path.removeprefix(PREFIX))))
        if self.source == "folder":
            check_folder(Path(self.path))
        return self


def model_of(config: RunConfig) -> ResolvedModel:
    """Find the run's model; the fake backend has one of its own, which no other run can mistake.

    Raises:
        UserError: see ``resolve_model``.
    """
    if config.serve.backend == "fake":
        return ResolvedModel("fake", None, FAKE_IDENTITY, "fake", "fake")
    return resolve_model(config.model)


def resolve_model(config: ModelConfig) -> ResolvedModel:
    """Find the model before anything expensive starts.

    A packaged model is converted on first use. Of a hub model only the configuration is fetched;
    its identity is the commit that the revision points to now.

    Raises:
        UserError: the folder is missing or holds no model, the hub does not know the name or
            cannot be reached, or a packaged model cannot be had.
    """
    if config.path.startswith(PREFIX):
        folder = embedded_folder(config.path.removeprefix(PREFIX))
        return _resolved(config, folder, "embedded")
    folder = Path(config.path).expanduser()
    if folder.exists() or not _is_hub_name(config.path):
        check_folder(folder)
        return _resolved(config, folder.resolve(), "folder")
    commit = _hub_commit(config)
    return ResolvedModel(config.path, commit, commit, config.label, "hub")


def check_folder(folder: Path) -> None:
    """Raise a UserError that says what the folder lacks to be a model, if it lacks anything."""
    where = f"model.path={folder}"
    if not folder.exists():
        raise UserError(f"{where}: no such folder")
    if not folder.is_dir():
        raise UserError(f"{where} is a file; give the model's folder (a GGUF file is not one)")
    names = {path.name for path in folder.iterdir()}
    if "config.json" not in names:
        raise UserError(f"{where} is no model: it has no config.json")
    if not any(name.endswith(WEIGHT_SUFFIXES) for name in names):
        raise UserError(
            f"{where} is no model: it has no weights ({', '.join(WEIGHT_SUFFIXES)} files)"
        )
    if missing := _indexed_shards(folder) - names:
        raise UserError(f"{where} is incomplete: it lacks {', '.join(sorted(missing))}")
    for weights in sorted(folder.glob("*.safetensors")):
        if not _is_whole(weights):
            raise UserError(f"{where} is damaged: {weights.name} is cut off or no such file")
    if not any(name.startswith(("tokenizer", "vocab", "tekken")) for name in names):
        raise UserError(f"{where} has no tokenizer (tokenizer.json or the like)")


def _indexed_shards(folder: Path) -> set[str]:
    """Return the weight files that the folder's own indices name."""
    shards: set[str] = set()
    for index in folder.glob("*.index.json"):
        try:
            shards.update(json.loads(index.read_bytes())["weight_map"].values())
        except (ValueError, KeyError) as error:
            raise UserError(f"model.path: {index} is no index of weights") from error
    return shards


def _is_whole(weights: Path) -> bool:
    """Return whether a safetensors file is as long as its header says.

    The file is a length (8 bytes, little endian), a JSON header of that length, and the tensors,
    each with its begin and end after the header.
    """
    size = weights.stat().st_size
    with weights.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > size:
            return False
        try:
            header = json.loads(file.read(length))
        except ValueError:
            return False
    ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
    return bool(size == 8 + length + max(ends, default=0))


def folder_identity(folder: Path) -> str:
    """Return a digest that changes when weights, tokenizer, chat template or config change.

    Cheap for any size of model. Small text files count with all their bytes. A weight file counts
    with its name, its size and 64 pieces of 4 KiB spread evenly from its first to its last byte:
    another training run changes practically every piece. A change that falls between all pieces
    goes unnoticed.

    Args:
        folder: a model folder; subfolders do not count.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix in WEIGHT_SUFFIXES:
            _add(digest, path.name, _pieces(path))
        elif path.suffix in TEXT_SUFFIXES:
            _add(digest, path.name, [path.read_bytes()])
    return digest.hexdigest()[:32]


def _resolved(config: ModelConfig, folder: Path, source: str) -> ResolvedModel:
    return ResolvedModel(str(folder), None, folder_identity(folder), config.label, source)


def _add(digest: "hashlib._Hash", name: str, parts: Iterable[bytes]) -> None:
    content = hashlib.sha256()
    for part in parts:
        content.update(part)
    digest.update(f"{name}\0{content.hexdigest()}\n".encode())


def _pieces(path: Path) -> Iterable[bytes]:
    size = path.stat().st_size
    yield str(size).encode()
    last = max(0, size - SAMPLE_BYTES)
    with path.open("rb") as file:
        for index in range(SAMPLES):
            file.seek(last * index // (SAMPLES - 1))
            yield file.read(SAMPLE_BYTES)


def _is_hub_name(path: str) -> bool:
    return not path.startswith(("/", ".", "~")) and path.count("/") <= 1


def _hub_commit(config: ModelConfig) -> str:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    name = config.path
    try:
        snapshot = Path(
            snapshot_download(name, revision=config.revision, allow_patterns=["config.json"])
        )
    except GatedRepoError as error:
        reason = "is gated; accept its terms on the hub and set HF_TOKEN"
        raise UserError(f"model.path={name} {reason}") from error
    except RepositoryNotFoundError as error:
        reason = "is neither a folder nor known to the hub (a private one needs HF_TOKEN)"
        raise UserError(f"model.path={name} {reason}") from error
    except RevisionNotFoundError as error:
        raise UserError(f"model.revision={config.revision}: {name} has no such one") from error
    except LocalEntryNotFoundError as error:
        reason = "is no folder here, and the hub cannot be reached or HF_HUB_OFFLINE is set"
        raise UserError(f"model.path={name} {reason}") from error
    except (OSError, HFValidationError) as error:
        raise UserError(f"model.path={name}: the hub says: {_first_line(error)}") from error
    if not (snapshot / "config.json").is_file():
        raise UserError(f"model.path={name} is no model: it has no config.json")
    return snapshot.name


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
