import pytest

from conf import SandboxConfig
from pipeline.jobs import (
    build_job,
    compare_executions,
    join_program,
    limits_from,
    record_execution,
)
from sandbox.encoding import encode
from sandbox.types import Kind, Load, Outcome, ProgramResult


def plain(test_id="0", args="1", expected=1, comparator="python", atol=None):
    return {
        "test_id": test_id,
        "args": args,
        "check": None,
        "expected": encode(expected),
        "comparator": comparator,
        "atol": atol,
        "source": "test",
    }


def check(test_id="0", source="assert solve(1) == 1"):
    return plain(test_id) | {"args": None, "check": source, "expected": None}


def value(result, test_id="0"):
    return Outcome(test_id, Kind.VALUE, encode(result))


def ran(*outcomes, load=Load.OK, message=""):
    return ProgramResult("job", load, tuple(outcomes), message, "standard", 0.1)


def job(tests, *, program="def solve(x):\n    return x\n", preamble="", called="solve"):
    return build_job(
        "job",
        program=program,
        preamble=preamble,
        entry_point="solve",
        called=called,
        tests=tests,
        config=SandboxConfig(),
    )


def test_no_expected_value_is_in_a_job():
    assert "SECRET" not in repr(job([plain(expected="SECRET"), plain("1", expected=["SECRET"])]))


def test_calls_follow_the_tests():
    calls = job([plain("a", "1, 2"), check("b")]).calls
    assert [(c.test_id, c.args) for c in calls] == [("a", "1, 2"), ("b", None)]
    assert calls[1].check == "assert solve(1) == 1"


def test_masking_renames_the_entry_point_and_the_calls_in_checks():
    masked = job([check()], called="func")
    assert masked.entry_point == "func"
    assert masked.calls[0].check == "assert func(1) == 1"


def test_limits_come_from_the_configuration():
    config = SandboxConfig(cpu_s=2, wall_factor=4, memory_mb=100, output_kb=3, max_encoding_kb=5)
    limits = limits_from(config)
    assert (limits.cpu_s, limits.wall_s, limits.memory_mb) == (2, 8, 100)
    assert (limits.output_bytes, limits.encoding_bytes) == (3 * 1024, 5 * 1024)


def test_the_preamble_runs_first():
    scope: dict = {}
    exec(join_program("import math", "y = math.floor(2.5)"), scope)
    assert scope["y"] == 2


def test_a_future_import_stays_first():
    program = "from __future__ import annotations\n\ndef solve(x: Unknown):\n    return x\n"
    scope: dict = {}
    exec(join_program("import math", program), scope)
    assert scope["solve"](1) == 1


@pytest.mark.parametrize("program", ["def solve(:\n # __future__", "\0__future__"])
def test_a_broken_program_is_joined_all_the_same(program):
    assert join_program("import math", program).endswith(program)


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (value(1), "pass"),
        (value(True), "pass"),
        (value(2), "fail"),
        (Outcome("0", Kind.ERROR, encode("x")), "error"),
        (Outcome("0", Kind.TIMEOUT), "timeout"),
        (Outcome("0", Kind.CRASH), "crash"),
    ],
)
def test_verdicts_of_plain_tests(outcome, verdict):
    execution = record_execution(ran(outcome), [plain()])
    assert execution["outcomes"][0]["verdict"] == verdict
    assert execution["verdict"] == verdict


@pytest.mark.parametrize(("held", "verdict"), [(True, "pass"), (False, "fail")])
def test_verdicts_of_checks(held, verdict):
    outcome = Outcome("0", Kind.VALUE, encode([1]), held=held)
    assert record_execution(ran(outcome), [check()])["verdict"] == verdict


def test_the_worst_test_decides():
    execution = record_execution(ran(value(1), value(2, "1")), [plain(), plain("1")])
    assert execution["verdict"] == "fail"
    assert [o["verdict"] for o in execution["outcomes"]] == ["pass", "fail"]


def test_a_program_that_does_not_load_has_an_error():
    skipped = Outcome("0", Kind.SKIPPED)
    execution = record_execution(ran(skipped, load=Load.SYNTAX, message="line 1"), [plain()])
    assert (execution["load"], execution["load_message"]) == ("syntax", "line 1")
    assert execution["verdict"] == "error"


def test_executions_are_compared_test_by_test():
    tests = [plain("0"), plain("1"), plain("2")]
    before = record_execution(ran(value(5), value(6, "1"), Outcome("2", Kind.SKIPPED)), tests)
    after = record_execution(ran(value(5.0), value(7, "1"), value(1, "2")), tests)
    compare_executions(before, after, tests, entry_point="solve")
    assert [o["matches_previous"] for o in after["outcomes"]] == [True, False, None]
    assert [o["matches_previous"] for o in before["outcomes"]] == [None, None, None]


def test_an_exact_test_compares_exactly():
    tests = [plain(comparator="exact")]
    before, after = (record_execution(ran(value(v)), tests) for v in (1, True))
    compare_executions(before, after, tests, entry_point="solve")
    assert after["outcomes"][0]["matches_previous"] is False


def _loaded(load, message=""):
    outcome = value(1) if load is Load.OK else Outcome("0", Kind.SKIPPED)
    return record_execution(ran(outcome, load=load, message=message), [plain()])


@pytest.mark.parametrize(
    ("before", "after", "matches"),
    [
        ((Load.OK,), (Load.SYNTAX, "invalid syntax (line 3)"), False),
        ((Load.SYNTAX, "invalid syntax (line 3)"), (Load.SYNTAX, "invalid syntax (line 9)"), True),
        ((Load.ERROR, "no module a"), (Load.ERROR, "no module b"), False),
        ((Load.ERROR, "'solve' is missing"), (Load.ERROR, "'func' is missing"), True),
        ((Load.TIMEOUT,), (Load.TIMEOUT,), None),
        ((Load.OK,), (Load.HARNESS,), None),
    ],
)
def test_a_program_that_does_not_load_matches_one_that_fails_alike(before, after, matches):
    old, new = _loaded(*before), _loaded(*after)
    compare_executions(old, new, [plain()], entry_point="solve")
    assert [outcome["matches_previous"] for outcome in new["outcomes"]] == [matches]
