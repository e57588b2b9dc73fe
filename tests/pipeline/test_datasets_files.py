import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conf import DatasetConfig, UserError
from pipeline.datasets import dataset_facts, load_problems
from sandbox.encoding import encode

SHARED = Path(__file__).parents[3] / "shared" / "data" / "identitychain"
OWN = {
    "problem_id": "demo/1",
    "prompt": 'import math\n\n\ndef area(r: float) -> float:\n    """The area of a circle."""\n',
    "entry_point": "area",
    "tests": [
        {"args": "1.0", "expected": "3.14159", "atol": 1e-3},
        {"args": "0", "expected": "0", "comparator": "exact"},
        {"check": "assert area(2.0) > area(1.0)"},
    ],
    "canonical_solution": "    return math.pi * r * r\n",
}


def write(path: Path, *records: object) -> DatasetConfig:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return DatasetConfig(name="file", path=str(path))


def load(path: Path, *records: object) -> list[dict]:
    return load_problems(write(path, *records)).to_pylist()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "mine.jsonl"


def broken(**change: object) -> dict:
    return OWN | {"problem_id": "demo/2"} | change


def without(field: str) -> dict:
    return {key: value for key, value in broken().items() if key != field}


def test_own_format(path):
    (problem,) = load(path, OWN)
    assert problem["dataset"] == "mine"
    assert problem["preamble"] == "import math\n\n\n"
    assert problem["docstring"] == "The area of a circle."
    assert problem["canonical_solution"] == OWN["prompt"] + OWN["canonical_solution"]
    assert [(t["comparator"], t["atol"], t["expected"]) for t in problem["tests"]] == [
        ("approx", 1e-3, encode(3.14159)),
        ("exact", None, encode(0)),
        ("exact", None, None),
    ]
    assert problem["tests"][2]["check"] == OWN["tests"][2]["check"]


def test_a_whole_program_as_solution_is_taken_as_it_is(path):
    solution = "def area(r):\n    return 3.14159 * r * r\n"
    (problem,) = load(path, OWN | {"canonical_solution": solution})
    assert problem["canonical_solution"] == solution


def test_a_solution_is_optional(path):
    (problem,) = load(path, without("canonical_solution"))
    assert problem["canonical_solution"] is None


def test_gzip_and_parquet_hold_the_same_problems(tmp_path):
    plain = load(tmp_path / "mine.jsonl", OWN)
    packed = tmp_path / "mine.jsonl.gz"
    packed.write_bytes(gzip.compress(json.dumps(OWN).encode()))
    table = tmp_path / "mine.parquet"
    pq.write_table(pa.Table.from_pylist([OWN]), table)
    for path in (packed, table):
        assert load_problems(DatasetConfig(name="file", path=str(path))).to_pylist() == plain


def test_a_path_alone_chooses_the_file(path):
    write(path, OWN)
    assert load_problems(DatasetConfig(path=str(path)))["dataset"].to_pylist() == ["mine"]


def test_facts_of_a_file(path):
    config = write(path, OWN)
    facts = dataset_facts(config, load_problems(config))
    assert (facts.name, facts.origin, facts.problems) == ("mine", str(path), 1)
    assert facts.version.startswith("sha256:")


@pytest.mark.parametrize(
    ("atol", "comparator"), [(0, "python"), ("", "python"), (None, "python"), (1e-6, "approx")]
)
def test_identitychain_input_output_tests(path, atol, comparator):
    (problem,) = load(
        path,
        {
            "task_id": "X/1",
            "problem": 'def f(x):\n    """Doc."""\n',
            "contract": "\n    assert x > 0\n",
            "function_name": "f",
            "function_signature": "def f(x):\n",
            "canonical_solution": "\n    return x\n",
            "tests": [{"input": "1", "output": "1"}, {"input": "[1], 'a'", "output": "(2.5,)"}],
            "atol": atol,
        },
    )
    assert [t["comparator"] for t in problem["tests"]] == [comparator] * 2
    assert problem["tests"][1]["args"] == "[1], 'a'"
    assert problem["tests"][1]["expected"] == encode((2.5,))
    assert "assert" not in problem["canonical_solution"]


def test_identitychain_assertion_tests(path):
    (problem,) = load(
        path,
        {
            "task_id": 11,
            "problem": 'def f(s):\n    """Doc."""\n',
            "contract": "",
            "function_name": "f",
            "function_signature": "def f(s):\n",
            "canonical_solution": "\n    return s\n",
            "tests": [
                "test_out = f('a')\nassert test_out == 'a', f'outputs {test_out}'",
                "import math\ntest_out = f(2)\nassert math.isclose(test_out, 2.0, rel_tol=0.001)",
            ],
            "atol": "",
        },
    )
    assert problem["problem_id"] == "11"
    plain, check = problem["tests"]
    assert (plain["args"], plain["expected"]) == ("'a'", encode("a"))
    assert check["check"].startswith("import math\n")


def test_human_eval_form(path):
    (problem,) = load(
        path,
        {
            "task_id": "H/0",
            "prompt": 'def f(x):\n    """Doc."""\n',
            "entry_point": "f",
            "canonical_solution": "    return x\n",
            "test": "def check(candidate):\n    assert candidate(1) == 1\n",
        },
    )
    assert problem["tests"][0]["args"] == "1"
    assert problem["canonical_solution"].endswith('"""\n    return x\n')


def test_mbpp_form(path):
    (problem,) = load(
        path,
        {
            "task_id": 2,
            "prompt": "Write a function to add one.",
            "code": "import math\ndef help(x):\n  return x\ndef add_one(x):\n  return help(x) + 1",
            "test_imports": ["import math"],
            "test_list": ["assert add_one(1) == 2", "assert math.isclose(add_one(1.5), 2.5)"],
        },
    )
    assert problem["entry_point"] == "add_one"
    assert problem["signature"] == "def add_one(x):"
    assert problem["docstring"] == "Write a function to add one."
    assert problem["tests"][1]["check"].startswith("import math\n")


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (broken(prompt=7), r"line 2: field 'prompt' must be text, got a whole number 7"),
        (without("prompt"), r"line 2: field 'prompt' is missing"),
        (broken(problem_id=None), r"line 2: field 'problem_id' is missing"),
        (broken(tests="x"), r"line 2: field 'tests' must be a list, got text 'x'"),
        (broken(tests=[1]), r"line 2: field 'test 0' must be an object, got a whole number 1"),
        (broken(tests=[{"args": "1"}]), r"line 2, test 0: field 'expected' is missing"),
        (broken(tests=[{}]), r"line 2, test 0: a test has either 'args' .* or a 'check'"),
        (broken(tests=[{"args": "(", "expected": "1"}]), r"the arguments '\(' do not parse"),
        (broken(tests=[{"args": "1", "expected": "x"}]), r"value 'x' is no Python literal"),
        (broken(tests=[{"check": "assert ("}]), r"test 0: field 'check' is not Python"),
        (
            broken(tests=[{"args": "1", "expected": "1", "comparator": "near"}]),
            r"'comparator' must be one of exact, python, approx, got 'near'",
        ),
        (
            broken(tests=[{"args": "1", "expected": "1", "comparator": "approx"}]),
            r"comparator 'approx' needs 'atol'",
        ),
        (
            broken(tests=[{"args": "1", "expected": "1", "atol": "small"}]),
            r"test 0: field 'atol' must be a number, got text 'small'",
        ),
        (broken(entry_point="g"), r"line 2: problem 'demo/2': the prompt does not define 'g'"),
        (broken(prompt="def area(:"), r"line 2: problem 'demo/2': the prompt does not parse"),
        (broken(tests=[]), r"problem 'demo/2' has no tests"),
        (broken(problem_id="demo/1"), r"two problems have the id 'demo/1'"),
        ([1], r"line 2: a record is a JSON object, got list"),
    ],
)  # fmt: skip
def test_a_broken_record_is_one_line_with_its_place(path, record, message):
    with pytest.raises(UserError, match=message) as caught:
        load(path, OWN, record)
    assert "\n" not in str(caught.value)


def test_a_line_that_is_no_json_is_named(path):
    path.write_text(json.dumps(OWN) + "\n\n{broken\n")
    with pytest.raises(UserError, match=r"mine.jsonl, line 3: not valid JSON"):
        load_problems(DatasetConfig(path=str(path)))


def test_unknown_form_says_what_is_missing(path):
    with pytest.raises(UserError, match=r"line 1: no known form .* missing: entry_point, tests"):
        load(path, {"problem_id": "1", "prompt": "x"})


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.jsonl", None, "there is no such file"),
        ("empty.jsonl", b"", "the data set is empty"),
        ("data.csv", b"a,b", r"the suffix must be one of \.jsonl, \.jsonl\.gz, \.parquet"),
        ("data.parquet", b"PAR0", "cannot be read"),
        ("data.jsonl.gz", b"not gzip", "cannot be read"),
    ],
)
def test_files_that_cannot_be_used(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message) as caught:
        load_problems(DatasetConfig(path=str(tmp_path / name)))
    assert name in str(caught.value)


def test_an_unknown_data_set_is_named():
    with pytest.raises(UserError, match=r"dataset.name='humanevil' is unknown; choose one of"):
        load_problems(DatasetConfig(name="humanevil"))


@pytest.mark.skipif(not SHARED.exists(), reason="the shared research data is not here")
@pytest.mark.parametrize(
    ("name", "problems"),
    [
        ("HumanEval.jsonl.gz", 164),
        ("human-eval-enhanced-202307.jsonl.gz", 164),
        ("EvalPlus-Mini-v0.1.6_reformatted.jsonl.gz", 164),
        ("EvalPlus-Mini-v0.1.10_reformatted.jsonl.gz", 164),
        ("MBPP-S_test.jsonl.gz", 257),
        ("MBPP-S_prompt.jsonl.gz", 7),
        ("MBPP-S_test_reformatted.jsonl.gz", 257),
    ],
)
def test_the_published_files_load_whole(name, problems):
    assert load_problems(DatasetConfig(path=str(SHARED / name))).num_rows == problems
