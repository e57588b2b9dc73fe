import json

import pytest

from conf import SandboxConfig, UserError
from pipeline import judge
from pipeline.datasets.fields import Record
from pipeline.judge import judge_record
from sandbox import Sandbox

PROBLEM = {
    "function_name": "solve",
    "function_signature": "def solve(n: int) -> int:\n",
    "problem": 'from math import floor\n\n\ndef solve(n: int) -> int:\n    """Twice n."""\n',
    "contract": "",
    "atol": 0,
}
RIGHT = "def solve(n):\n    return 2 * n\n"
TESTS = [{"input": "1", "expected": "2"}, {"input": "2", "expected": "4"}]


def record(**change: object) -> dict:
    return {"id": "r", "problem": PROBLEM, "program": RIGHT, "tests": TESTS} | change


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(SandboxConfig()) as opened:
        yield opened


@pytest.fixture
def line(sandbox):
    def judged(**change: object) -> dict:
        return judge_record(Record(record(**change), "place"), sandbox, SandboxConfig())

    return judged


def test_a_right_program_passes(line):
    judged = line()
    assert (judged["id"], judged["verdict"]) == ("r", "pass")
    assert [t["verdict"] for t in judged["per_test"]] == ["pass", "pass"]
    assert [t["output"] for t in judged["per_test"]] == ["2", "4"]
    assert judged["isolation"]
    assert judged["extraction"] is None


def test_a_completion_is_extracted(line):
    judged = line(program=None, completion=f"Sure:\n```python\n{RIGHT}```\n")
    assert judged["verdict"] == "pass"
    assert judged["extraction"]
    assert judged["truncated"] is False


def test_a_completion_without_code_has_no_code(line):
    judged = line(program=None, completion="<think>\nI will think about it for ever")
    assert judged["verdict"] == "no_code"
    assert [t["verdict"] for t in judged["per_test"]] == ["no_code", "no_code"]


def test_what_stands_before_the_function_and_the_preamble_are_there(line):
    program = "def solve(n):\n    return floor(TWO * n)\n"
    assert line(program=program, preamble="TWO = 2.0")["verdict"] == "pass"
    assert line(program=program)["per_test"][0]["kind"] == "error"


@pytest.mark.parametrize(
    ("problem_atol", "test_atol", "verdict"),
    [(0, None, "fail"), (0.1, None, "pass"), ("", 0.1, "pass")],
)
def test_tolerance_of_the_problem_or_of_one_test(line, problem_atol, test_atol, verdict):
    test = {"input": "1", "expected": "2.05"} | ({"atol": test_atol} if test_atol else {})
    assert line(problem=PROBLEM | {"atol": problem_atol}, tests=[test])["verdict"] == verdict


def test_an_expression_is_evaluated_in_the_sandbox(line):
    tests = [{"input": "1", "expected": "len('ab')", "expr": True}]
    assert line(tests=tests)["verdict"] == "pass"


def test_limits_apply(line):
    program = "def solve(n):\n    return len(bytearray(200 << 20)) and 2 * n\n"
    assert line(program=program)["verdict"] == "pass"
    assert line(program=program, limits={"memory_mb": 100})["verdict"] == "memory"
    spin = "def solve(n):\n    while True: pass\n"
    assert line(program=spin, limits={"cpu_seconds": 0.1})["verdict"] == "timeout"


def test_a_program_that_does_not_load_has_an_error_and_says_why(line):
    judged = line(program="def solve(n:\n")
    assert (judged["verdict"], judged["load"]) == ("error", "syntax")
    assert judged["message"]


def test_a_crash_is_an_error_whose_kind_and_signal_are_told(line):
    judged = line(program="def solve(n):\n    import os\n    os.abort()\n")
    assert judged["verdict"] == "error"
    assert judged["per_test"][0]["kind"] == "crash"
    assert "SIG" in judged["per_test"][0]["message"]


def test_a_run_case_is_not_judged(line):
    judged = line(problem={"dataset": []}, tests=[])
    assert judged["verdict"] is None
    assert "a run" in judged["message"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"problem": None}, "place: field 'problem' must be an object, got null"),
        ({"problem": {}}, "place, problem: field 'function_name' is missing"),
        ({"completion": "x"}, "either 'completion' or 'program'"),
        ({"program": None}, "either 'completion' or 'program'"),
        ({"tests": []}, "place: the record has no tests"),
        ({"tests": [{"input": "1"}]}, "place, test 0: field 'expected' is missing"),
        ({"tests": [{"input": "(", "expected": "1"}]}, "field 'input' does not parse"),
        ({"tests": [{"input": "1", "expected": "x"}]}, r"no Python literal.*set expr: true"),
        ({"limits": {"memory_mb": 1}}, "place, limits: sandbox.memory_mb must be at least 64"),
        ({"limits": {"memory_mb": "1"}}, "place, limits: field 'memory_mb' must be a number"),
        ({"problem": PROBLEM | {"problem": "def other(): pass"}}, "does not define 'solve'"),
    ],
)
def test_a_broken_record_names_its_place(line, change, message):
    with pytest.raises(UserError, match=message):
        line(**change)


def test_files_stream_to_one_line_each_in_order(tmp_path, capsys):
    many, one, out = tmp_path / "many.jsonl", tmp_path / "one.json", tmp_path / "out.jsonl"
    lines = [json.dumps(record(id="a")), "{broken", json.dumps(record(id=None, program="x = 1"))]
    many.write_text("\n".join(lines) + "\n")
    one.write_text(json.dumps(record(id="c"), indent=1))
    assert judge.main([many, one], out) == 1
    judged = [json.loads(text) for text in out.read_text().splitlines()]
    assert [j["id"] for j in judged] == ["a", None, f"{many}, line 3", "c"]
    assert [j["verdict"] for j in judged] == ["pass", None, "error", "pass"]
    assert "many.jsonl, line 2: not valid JSON" in judged[1]["message"]
    assert "many.jsonl, line 2" in capsys.readouterr().err


def test_sound_files_have_status_zero(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(record(program="def solve(n):\n    return 0\n")))
    assert judge.main([path], tmp_path / "out.jsonl") == 0


@pytest.mark.parametrize(
    ("name", "message"), [("none.jsonl", "no such file"), ("a.txt", "the suffix must be one of")]
)
def test_files_that_cannot_be_read_stop_it_before_it_starts(tmp_path, name, message):
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(UserError, match=message):
        judge.main([tmp_path / name], tmp_path / "out.jsonl")


def test_an_output_that_cannot_be_written_is_named(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(record()))
    with pytest.raises(UserError, match=r"--out .* cannot be written"):
        judge.main([path], tmp_path / "none" / "out.jsonl")
