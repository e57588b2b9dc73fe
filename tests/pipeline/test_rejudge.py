"""Running recorded programs again: the release's programs, equality and words."""

import gzip
import json
from pathlib import Path

import pytest

from analysis.rejudged import compare_results
from conf import UserError
from pipeline.rejudge import rejudge, release_verdict
from sandbox import Kind, Outcome, Sandbox
from sandbox.encoding import encode

SHARED = Path(__file__).parents[3] / "shared" / "data" / "identitychain"
EVERY = 5

HEADER = 'def half(n):\n    """Half of n."""\n'
RECORD = {
    "task_id": "t/0",
    "NL_0": HEADER,
    "contract": "    assert n != 7, 'invalid inputs'\n",
    "function_name": "half",
    "function_signature": "def half(n):\n",
    "atol": 0,
    "tests": [{"input": str(n), "output": str(n / 2)} for n in (2, 3, 7)],
    "PL_0": "    return n / 2\n",
    "PL_0_results": ["Passed", "Passed", "AssertionError: invalid inputs"],
    "NL_1": '    """Half of n."""\n',
    "PL_1": "    return n // 2\n",
    "PL_1_results": ["Passed", "AssertionError: outputs 1", "AssertionError: invalid inputs"],
}


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox() as opened:
        yield opened


@pytest.fixture
def again(sandbox, tmp_path):
    """The results of one record, judged again, step by step."""

    def run(**change):
        path = tmp_path / "record.jsonl"
        path.write_text(json.dumps(RECORD | change) + "\n")
        ((_, ours),) = rejudge(path, sandbox)
        return [list(step.results) if step.results else None for step in ours.steps]

    return run


def test_programs_come_to_what_the_release_recorded(again):
    assert again() == [RECORD["PL_0_results"], RECORD["PL_1_results"]]


def test_names_are_masked_as_the_release_masks_them(again):
    signature = "def f(n):\n"
    made = again(
        NL_0=HEADER.replace("half", "f"),
        function_name="f",
        function_signature=signature,
    )
    assert made[0] == RECORD["PL_0_results"]
    assert made[1] == ["SyntaxError: invalid syntax (<string>, line 2)"] * 3


def test_a_program_that_does_not_parse_says_so_on_every_test(again):
    assert again(PL_1="    return )\n")[1] == ["SyntaxError: unmatched ')' (<string>, line 6)"] * 3


def test_a_tolerance_is_of_the_difference(again):
    assert again(atol=0.6)[1][:2] == ["Passed", "Passed"]


def test_with_a_tolerance_values_without_a_difference_are_an_error(again):
    made = again(atol=1e-6, PL_1="    return [n]\n")[1]
    assert made[0] == "TypeError: unsupported operand type(s) for -: 'list' and 'float'"


def test_a_skipped_step_stays_skipped(again):
    assert again(NL_1="NA", PL_1="NA", PL_1_results="NA")[1] is None


def test_assertion_texts_are_refused(again):
    with pytest.raises(UserError, match=r"line 1: its tests are assertion texts"):
        again(tests=["assert half(2) == 1"] * 3)


def test_an_expected_value_may_need_to_be_computed(again):
    tests = [{"input": "2", "output": "sum([0.5, 0.5])"}] * 3
    assert again(tests=tests)[0] == ["Passed"] * 3


@pytest.mark.parametrize(
    ("value", "expected", "atol", "verdict"),
    [
        (1, 1.0, 0, "pass"),
        (True, 1, 0, "pass"),
        ("1", 1, 0, "fail"),
        (1.05, 1, 0.1, "pass"),
        (1.2, 1, 0.1, "fail"),
        (float("nan"), float("nan"), 0.1, "fail"),
        (None, 1.0, 0.1, "error"),
    ],
)
def test_the_release_s_equality(value, expected, atol, verdict):
    outcome = Outcome("0", Kind.VALUE, encode(value))
    assert release_verdict(outcome, encode(expected), atol)["verdict"] == verdict


def test_an_object_that_cannot_be_looked_into_is_wrong_within_any_tolerance():
    outcome = Outcome("0", Kind.VALUE, encode(object()))
    assert release_verdict(outcome, encode(1.0), 1e9)["verdict"] == "fail"


@pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded file is not here")
def test_a_sample_of_the_human_judge_file_is_as_recorded(sandbox, tmp_path):
    (source,) = SHARED.glob("human-judge_*.jsonl.gz")
    lines = gzip.decompress(source.read_bytes()).splitlines(keepends=True)
    sample = tmp_path / "sample.jsonl"
    sample.write_bytes(b"".join(lines[::EVERY]))
    found = compare_results(rejudge(sample, sandbox))
    assert found.programs == 2 * len(lines[::EVERY])
    # Only a test that needs about half a second may come out either way.
    assert [d for d in found.differences if not d.cause.startswith("time")] == []
