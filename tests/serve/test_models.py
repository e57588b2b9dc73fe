import json
from pathlib import Path

import pytest

from conf import ModelConfig, RunConfig, UserError
from serve.models import folder_identity, model_of, resolve_model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The least that counts as a model."""
    path = tmp_path / "tiny-model"
    path.mkdir()
    (path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    (path / "tokenizer.json").write_text("{}")
    (path / "chat_template.jinja").write_text("{{ messages }}")
    write_weights(path / "model.safetensors", bytes(range(256)) * 4096)
    return path


def write_weights(path: Path, data: bytes) -> None:
    tensor = {"dtype": "U8", "shape": [len(data)], "data_offsets": [0, len(data)]}
    header = json.dumps({"__metadata__": {"format": "pt"}, "w": tensor}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)


def resolve(path: Path | str) -> str:
    return resolve_model(ModelConfig(path=str(path))).identity


def test_a_folder_is_found_under_its_absolute_path(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    found = resolve_model(ModelConfig(path="tiny-model"))
    assert (found.path, found.source, found.label) == (str(folder), "folder", "tiny-model")


def test_a_copy_has_the_same_identity(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in folder.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    assert resolve(copy) == resolve(folder)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "chat_template.jinja"])
def test_one_changed_byte_in_a_text_file_changes_the_identity(folder: Path, name: str) -> None:
    before = folder_identity(folder)
    path = folder / name
    path.write_text(path.read_text() + " ")
    assert folder_identity(folder) != before


def test_other_weights_of_the_same_size_change_the_identity(folder: Path) -> None:
    before = folder_identity(folder)
    weights = folder / "model.safetensors"
    weights.write_bytes(bytes(byte ^ 1 for byte in weights.read_bytes()))
    assert folder_identity(folder) != before


def test_one_more_weight_changes_the_identity(folder: Path) -> None:
    before = folder_identity(folder)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes() + b"\0")
    assert folder_identity(folder) != before


def test_a_renamed_weight_file_changes_the_identity(folder: Path) -> None:
    before = folder_identity(folder)
    (folder / "model.safetensors").rename(folder / "model-00001.safetensors")
    assert folder_identity(folder) != before


def test_notes_beside_the_model_do_not_change_the_identity(folder: Path) -> None:
    before = folder_identity(folder)
    (folder / "README.md").write_text("notes")
    assert folder_identity(folder) == before


@pytest.mark.parametrize(
    ("missing", "complaint"),
    [
        ("config.json", "no config.json"),
        ("model.safetensors", "no weights"),
        ("tokenizer.json", "no tokenizer"),
    ],
)
def test_a_folder_that_is_no_model_is_told_what_it_lacks(
    folder: Path, missing: str, complaint: str
) -> None:
    (folder / missing).unlink()
    with pytest.raises(UserError, match=complaint) as error:
        resolve(folder)
    assert str(folder) in str(error.value)


def test_an_index_that_names_a_missing_shard_is_no_model(folder: Path) -> None:
    index = {"weight_map": {"a": "model.safetensors", "b": "model-2.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(UserError, match=r"model-2\.safetensors"):
        resolve(folder)


@pytest.mark.parametrize("damaged", [b"", b"x" * 7, b"\xff" * 99])
def test_a_file_that_is_no_weights_is_named(folder: Path, damaged: bytes) -> None:
    (folder / "model.safetensors").write_bytes(damaged)
    with pytest.raises(UserError, match=r"model\.safetensors is cut off"):
        resolve(folder)


def test_weights_whose_download_was_cut_off_are_named(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(UserError, match=r"model\.safetensors is cut off"):
        resolve(folder)


def test_a_broken_index_is_named(folder: Path) -> None:
    (folder / "model.safetensors.index.json").write_text("{")
    with pytest.raises(UserError, match=r"model\.safetensors\.index\.json is no index"):
        resolve(folder)


def test_a_missing_folder_is_named() -> None:
    with pytest.raises(UserError, match=r"model\.path=/no/such/folder: no such folder"):
        resolve("/no/such/folder")


def test_a_file_is_not_a_model(folder: Path) -> None:
    with pytest.raises(UserError, match="is a file"):
        resolve(folder / "model.safetensors")


def test_a_hub_name_that_cannot_be_asked_for_is_the_users_to_mend(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(UserError, match=r"some-lab/some-model .*HF_HUB_OFFLINE"):
        resolve("some-lab/some-model")


def test_the_fake_backend_needs_no_model_and_has_its_own_identity() -> None:
    config = RunConfig()
    config.serve.backend = "fake"
    assert model_of(config).source == "fake"
