"""From a problem and a program to a sandbox job, and from its result to an ``Execution``.

Shared by the chain's Execute stage, the gold check and the judge, so that a program has the
same verdict wherever it runs.
"""

import ast
from collections.abc import Sequence

from conf import SandboxConfig
from pipeline.masking import MASK, mask_check
from pipeline.parsing import parse_module
from pipeline.records import Execution, Outcome, Test
from sandbox.types import Call, Job, Kind, Limits, Load, ProgramResult
from sandbox.types import Outcome as SandboxOutcome
from sandbox.verdicts import (
    Expectation,
    Verdict,
    judge_outcome,
    normal_message,
    outcomes_match,
    program_verdict,
)


def limits_from(config: SandboxConfig) -> Limits:
    """Return the budgets of one program."""
    return Limits(
        cpu_s=config.cpu_s,
        wall_s=config.cpu_s * config.wall_factor,
        load_cpu_s=config.load_cpu_s,
        program_cpu_s=config.program_cpu_s,
        memory_mb=config.memory_mb,
        output_bytes=config.output_kb * 1024,
        encoding_bytes=config.max_encoding_kb * 1024,
    )


def build_job(
    job_id: str,
    *,
    program: str,
    preamble: str,
    entry_point: str,
    called: str,
    tests: Sequence[Test],
    config: SandboxConfig,
    seed: int = 0,
) -> Job:
    """Return the job that runs a program on a problem's tests.

    Args:
        job_id: comes back with the result.
        program: the program, without or with the preamble.
        preamble: the problem's imports and helpers; they run first.
        entry_point: the function's name in the data set.
        called: its name in the program, which the tests then use.
        tests: the problem's tests; only what a program may know of them goes into the job.
        config: the budgets.
        seed: of the random numbers that the program and the checks draw.
    """
    return Job(
        job_id=job_id,
        program=join_program(preamble, program),
        entry_point=called,
        calls=tuple(_call(test, entry_point, called) for test in tests),
        limits=limits_from(config),
        seed=seed,
    )


def join_program(preamble: str, program: str) -> str:
    """Put a preamble before a program; imports from ``__future__`` stay first."""
    if not preamble.strip():
        return program
    imports, rest = _without_future_imports(program)
    return "\n".join([*imports, preamble, rest])


def record_execution(result: ProgramResult, tests: Sequence[Test]) -> Execution:
    """Judge a result and return its record; ``matches_previous`` is left undefined."""
    pairs = [_record(o, test) for o, test in zip(result.outcomes, tests, strict=True)]
    verdict = program_verdict(result.load, [verdict for _, verdict in pairs])
    return Execution(
        load=str(result.load),
        load_message=result.message,
        verdict=str(verdict),
        isolation=result.isolation,
        cpu_s=result.cpu_s,
        outcomes=[outcome for outcome, _ in pairs],
    )


def compare_executions(
    before: Execution, after: Execution, tests: Sequence[Test], *, entry_point: str
) -> None:
    """Set ``matches_previous`` in the outcomes of ``after``.

    A program that does not load does the same on every test: it matches one that fails to load in
    the same way, and no other. Two that both ran out of time while loading compare to nothing.

    Args:
        before: the execution of the step before.
        after: the execution to compare with it.
        tests: the problem's tests, whose comparators decide.
        entry_point: the function's name in the data set; a difference that is only this name
            or its mask in an error message is none.
    """
    names = (entry_point, MASK)
    if (before["load"], after["load"]) != (Load.OK, Load.OK):
        alike = _loads_alike(before, after, names)
        for new in after["outcomes"]:
            new["matches_previous"] = alike
        return
    for old, new, test in zip(before["outcomes"], after["outcomes"], tests, strict=True):
        new["matches_previous"] = outcomes_match(
            _sandbox_outcome(old), _sandbox_outcome(new), test["comparator"], test["atol"], names
        )


def _loads_alike(before: Execution, after: Execution, names: tuple[str, ...]) -> bool | None:
    loads = {before["load"], after["load"]}
    if Load.HARNESS in loads or loads == {Load.TIMEOUT}:
        return None
    return len(loads) == 1 and (
        normal_message(before["load_message"], names)
        == normal_message(after["load_message"], names)
    )


def _call(test: Test, entry_point: str, called: str) -> Call:
    check = test["check"]
    if check is not None and called != entry_point:
        check = mask_check(check, entry_point, called)
    return Call(test["test_id"], args=test["args"], check=check)


def _without_future_imports(program: str) -> tuple[list[str], str]:
    if "__future__" not in program:
        return [], program
    try:
        body = parse_module(program).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [], program
    imports = [n for n in body if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
    for node in reversed(imports):
        above = program.split("\n")[: node.lineno - 1]
        start = sum(len(line) + 1 for line in above) + node.col_offset
        length = len(ast.get_source_segment(program, node) or "")
        program = f"{program[:start]}pass{program[start + length :]}"
    return list(map(ast.unparse, imports)), program


def _record(outcome: SandboxOutcome, test: Test) -> tuple[Outcome, Verdict]:
    expectation = Expectation(test["expected"], test["comparator"], test["atol"])
    verdict = judge_outcome(outcome, expectation)
    record = Outcome(
        test_id=outcome.test_id,
        kind=str(outcome.kind),
        encoding=outcome.encoding,
        message=outcome.message,
        cpu_s=outcome.cpu_s,
        verdict=str(verdict),
        matches_previous=None,
    )
    return record, verdict


def _sandbox_outcome(record: Outcome) -> SandboxOutcome:
    return SandboxOutcome(
        test_id=record["test_id"],
        kind=Kind(record["kind"]),
        encoding=record["encoding"],
        message=record["message"],
        cpu_s=record["cpu_s"],
    )
