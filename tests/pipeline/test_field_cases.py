"""The field cases, when they lie beside the checkout: each reaches its expected verdict."""

import json
from pathlib import Path
from typing import Any

import pytest

from conf import SandboxConfig
from pipeline.datasets.fields import Record
from pipeline.judge import judge_record
from sandbox import Sandbox

FOLDER = Path(__file__).parents[3] / "shared" / "cases"
CASES = [json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))]
JUDGED = [case for case in CASES if case["kind"] != "run"]
SLEEPER_WALL_S = 4

pytestmark = pytest.mark.skipif(not CASES, reason="the field cases are not here")


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(SandboxConfig()) as opened:
        yield opened


def judged(sandbox: Sandbox, case: dict[str, Any], **change: Any) -> dict[str, Any]:
    fields = {k: v for k, v in case.items() if k not in ("program", "completion") or not change}
    return judge_record(Record(fields | change, case["id"]), sandbox, SandboxConfig())


@pytest.mark.parametrize("case", JUDGED, ids=lambda case: case["id"])
def test_the_program_reaches_its_verdict(sandbox, case):
    line = judged(sandbox, case)
    expect = case["expect"]
    assert line["verdict"] in [expect["verdict"], *expect.get("accept", [])]
    for test, wanted in zip(line["per_test"], expect.get("per_test", []), strict=False):
        assert test["verdict"] in [*wanted.split("|"), *expect.get("accept", [])]


@pytest.mark.parametrize("case", JUDGED, ids=lambda case: case["id"])
def test_the_control_passes(sandbox, case):
    assert judged(sandbox, case, program=case["control"])["verdict"] == "pass"


@pytest.mark.parametrize("case", [c for c in JUDGED if "wrong" in c], ids=lambda case: case["id"])
def test_the_wrong_program_fails(sandbox, case):
    assert judged(sandbox, case, program=case["wrong"])["verdict"] == "fail"


@pytest.mark.parametrize(
    ("case", "other"),
    [(case, other) for case in JUDGED for other in case.get("also", [])],
    ids=lambda value: value.get("id") or value["verdict"],
)
def test_further_programs_reach_their_verdicts(sandbox, case, other):
    limits = {"wall_seconds": SLEEPER_WALL_S} if "sleep" in other["program"] else None
    line = judged(sandbox, case, program=other["program"], limits=limits)
    assert line["verdict"] == other["verdict"]


def test_truncation_is_told(sandbox):
    (case,) = [case for case in JUDGED if case["id"].startswith("S02")]
    assert judged(sandbox, case)["truncated"] is True


@pytest.mark.parametrize("case", [c for c in CASES if c["kind"] == "run"], ids=lambda c: c["id"])
def test_a_run_case_is_a_clear_line(sandbox, case):
    line = judged(sandbox, case)
    assert line["verdict"] is None
    assert line["message"]
