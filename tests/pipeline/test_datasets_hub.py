import json
import os
import subprocess
import sys

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conf import DatasetConfig, SandboxConfig, UserError
from pipeline.checking import OneSandbox, gold_check, label_tests
from pipeline.datasets import dataset_facts, hub, load_problems
from sandbox import Sandbox
from sandbox.encoding import encode

# In EvalPlus's layout, as its two repositories have it; the problems are invented.
ASSERTION = """
import numpy as np

def is_floats(x) -> bool:
    if isinstance(x, float):
        return True
    if isinstance(x, (list, tuple)):
        return all(isinstance(i, float) for i in x)
    return False

def assertion(out, exp, atol):
    same = out == exp
    if atol == 0 and is_floats(exp):
        atol = 1e-6
    if not same and atol != 0:
        assert np.allclose(out, exp, rtol=1e-07, atol=atol)
    else:
        assert same
"""
HALVES = {
    "task_id": "HumanEval/900",
    "prompt": 'def halves(ns, by=2):\n    """Every number, divided."""\n',
    "canonical_solution": "    return [n / by for n in ns]\n",
    "entry_point": "halves",
    "test": f"""{ASSERTION}
def check(candidate):
    inputs = [[[1, 3]], [[], 4], [[-2], 3]]
    results = [[0.5, 1.5], [], [-0.6666666666666666]]
    for i, (inp, exp) in enumerate(zip(inputs, results)):
        assertion(candidate(*inp), exp, 0)
""",
}
COPIED = HALVES | {
    "task_id": "HumanEval/901",
    "test": f"""{ASSERTION}
def ref_func(ns, by=2):
    return [n / by for n in ns]

def check(candidate):
    inputs = [[[1, 3]], [[2], 4]]
    for i, inp in enumerate(inputs):
        assertion(candidate(*inp), ref_func(*inp), 1e-4)
""",
}
LEAST = {
    "task_id": 900,
    "code": "def least(ns):\n  return min(ns, default=0) \n",
    "prompt": "Write a function to find the least number.",
    "source_file": "invented",
    "test_imports": [],
    "test_list": ["assert least([3, 2]) == 2", "assert least([]) == 0"],
}
LEAST_PLUS = LEAST | {
    "test": "from math import inf\n"
    + ASSERTION
    + """
inputs = [[[3, 2]], [[]], [[1, -inf]]]
results = [2, 0, -inf]
for i, (inp, exp) in enumerate(zip(inputs, results)):
    assertion(least(*inp), exp, 0)
""",
}
CONFIGS = """---
configs:
- config_name: full
  data_files:
  - {split: test, path: full/test-*}
- config_name: sanitized
  data_files:
  - {split: train, path: sanitized/train-*}
  - {split: test, path: sanitized/test-*}
---
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    hub.load_repository.cache_clear()


def repository(folder, *records, place="data/test-00000-of-00001.parquet"):
    path = folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(records)), path)
    return str(folder)


def load(name, path):
    return load_problems(DatasetConfig(name=name, path=path)).to_pylist()


def test_each_input_of_the_harness_is_one_test(tmp_path):
    (problem,) = load("humaneval_plus", repository(tmp_path / "r", HALVES))
    assert problem["dataset"] == "humaneval_plus"
    assert [(t["args"], t["expected"], t["comparator"]) for t in problem["tests"]] == [
        ("[1, 3]", encode([0.5, 1.5]), "approx"),
        ("[], 4", encode([]), "approx"),
        ("[-2], 3", encode([-0.6666666666666666]), "approx"),
    ]
    assert problem["tests"][0]["atol"] == 1e-6


def test_a_harness_that_calls_a_reference_leaves_its_tests_to_the_solution(tmp_path):
    (problem,) = load("humaneval_plus", repository(tmp_path / "r", COPIED))
    assert [(t["args"], t["expected"], t["atol"]) for t in problem["tests"]] == [
        ("[1, 3]", None, 1e-4),
        ("[2], 4", None, 1e-4),
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    same = out == exp", "    same = set(out) == set(exp)"),
        ("candidate(*inp), exp, 0", "sorted(candidate(*inp)), exp, 0"),
        ("    for i,", "    inputs.append([[7]])\n    results.append([3.5])\n    for i,"),
        ("results = [[0.5", "results = [[1 and 0.5"),
    ],
)
def test_a_harness_of_another_kind_stays_whole(tmp_path, old, new):
    changed = HALVES | {"test": HALVES["test"].replace(old, new)}
    (problem,) = load("humaneval_plus", repository(tmp_path / "r", changed))
    assert [test["args"] for test in problem["tests"]] == [None]


def test_mbpp_plus_takes_the_harness(tmp_path):
    (problem,) = load("mbpp_plus", repository(tmp_path / "r", LEAST_PLUS))
    assert problem["problem_id"] == "900"
    assert problem["docstring"] == LEAST["prompt"]
    assert [(t["args"], t["expected"], t["comparator"]) for t in problem["tests"]] == [
        ("[3, 2]", encode(2), "python"),
        ("[]", encode(0), "python"),
        ("[1, -float('inf')]", encode(float("-inf")), "approx"),
    ]


def test_mbpp_takes_the_sanitized_test_split(tmp_path):
    folder = tmp_path / "r"
    repository(folder, {"text": "other fields"}, place="full/test-0.parquet")
    repository(folder, LEAST | {"task_id": 1}, place="sanitized/train-0.parquet")
    repository(folder, LEAST, place="sanitized/test-0.parquet")
    (folder / "README.md").write_text(CONFIGS)
    (problem,) = load("mbpp_sanitized", str(folder))
    assert (problem["problem_id"], len(problem["tests"])) == ("900", 2)


def test_the_published_file_of_mini_is_read_line_by_line(tmp_path, monkeypatch):
    mixed = [
        {
            "task_id": "a",
            "prompt": 'def f(x):\n    """F."""\n',
            "canonical_solution": "    return x\n",
        }
        | {"entry_point": "f", "base_input": [given], "plus_input": [], "atol": 0}
        for given in ([1], ["one"])
    ]
    mixed[1]["task_id"] = "b"
    file = tmp_path / "mini.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in mixed))
    known = hub.HubDataset(hub.Repository(hub.TEXT, url=str(file)), "none")
    monkeypatch.setitem(hub.HUB, "humaneval_plus_mini", known)
    problems = load("humaneval_plus_mini", None)
    assert [p["tests"][0]["args"] for p in problems] == ["1", "'one'"]


def test_solutions_from_a_repository_pass_the_gold_check(tmp_path):
    for name, records in (("humaneval_plus", [HALVES, COPIED]), ("mbpp_plus", [LEAST_PLUS])):
        config = DatasetConfig(name=name, path=repository(tmp_path / name, *records))
        with Sandbox(SandboxConfig()) as sandbox:
            pool = OneSandbox(sandbox)
            labelled = label_tests(load_problems(config), pool, SandboxConfig())
            assert gold_check(labelled, pool, SandboxConfig()).failing == {}


def test_facts_of_a_repository(tmp_path):
    config = DatasetConfig(name="mbpp_plus", path=repository(tmp_path / "r", LEAST_PLUS))
    facts = dataset_facts(config, load_problems(config))
    assert (facts.name, facts.origin) == ("mbpp_plus", config.path)
    assert facts.licence == hub.HUB["mbpp_plus"].licence
    assert facts.version.startswith("sha256:")


def test_the_version_of_a_download_is_its_commit(monkeypatch):
    class Rows(list):
        info = datasets.DatasetInfo(
            download_checksums={f"hf://datasets/a/b@{'c0' * 20}/data/x.parquet": {}}
        )

    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: {"test": Rows([HALVES])})
    assert hub.load_repository(hub.Repository("a/b")).version == "c0" * 20


def test_one_s_own_problems_in_a_folder(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    own = {
        "problem_id": "demo/1",
        "prompt": 'def f(x):\n    """F."""\n',
        "entry_point": "f",
        "tests": [{"args": "1", "expected": "1"}, {"check": "assert f(2) == 2"}],
    }
    (folder / "any.jsonl").write_text(json.dumps(own) + "\n")
    (problem,) = load("file", str(folder))
    assert (problem["dataset"], len(problem["tests"])) == ("mine", 2)


def test_several_splits_without_a_test_one_are_refused(tmp_path):
    folder = repository(tmp_path / "r", HALVES, place="data/train-0.parquet")
    repository(tmp_path / "r", HALVES, place="data/validation-0.parquet")
    with pytest.raises(UserError, match="no split is named test, and there are several: train, "):
        load("file", folder)


def test_an_empty_folder_is_named(tmp_path):
    folder = tmp_path / "nothing"
    folder.mkdir()
    with pytest.raises(UserError, match="nothing: cannot be loaded: "):
        load("file", str(folder))


@pytest.mark.parametrize("name", hub.HUB)
def test_without_the_hub_one_line_names_the_way_out(name, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "pipeline.cli", "check", f"dataset={name}"],
        env=os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "set dataset.path=" in done.stderr
