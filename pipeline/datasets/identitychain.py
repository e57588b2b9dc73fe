"""The reformatted data sets that IdentityChain ships (arXiv 2310.14053).

Two kinds of tests: ``{"input": ..., "output": ...}``, both Python source, and assertion text.
A record's ``contract`` (assertions about the inputs) is neither shown to a model nor run: the
tests' inputs are fixed, so it can only say what is known about them, and run inside the program
it would lend its imports and rebind its arguments to the solution.
"""

from typing import Any

from pipeline.datasets.asserts import split_text
from pipeline.datasets.build import build_problem, build_test, module_body
from pipeline.datasets.fields import Record
from pipeline.datasets.own import read_case
from pipeline.records import Problem, Test


def convert(record: Record, dataset: str) -> Problem:
    """Turn a reformatted record into a problem."""
    prompt, entry_point = record.text("problem"), record.text("function_name")
    body = record.optional_text("canonical_solution")
    problem = build_problem(
        record,
        dataset=dataset,
        problem_id=record.identity("task_id"),
        prompt=prompt,
        entry_point=entry_point,
        canonical_solution=None if body is None else prompt + body,
    )
    # An atol of 0, null or empty text means plain equality.
    atol = record.number("atol") or None
    for item in record.items("tests"):
        problem["tests"] += _tests(record, item, atol, problem)
    return problem


def _tests(record: Record, item: Any, atol: float | None, problem: Problem) -> list[Test]:
    first = len(problem["tests"])
    if isinstance(item, str):
        module_body(record, f"test {first}", item)
        splits = split_text(item, problem["entry_point"])
        return [build_test(first + n, split, "assert") for n, split in enumerate(splits)]
    pair = record.within(f"test {first}", item)
    comparator = "python" if atol is None else "approx"
    case = read_case(pair, pair.text("input"), pair.text("output"), comparator, atol)
    return [build_test(first, case, "input-output")]
