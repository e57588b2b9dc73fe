"""EvalPlus as published (Liu et al. 2023, arXiv 2305.01210): inputs and a reference solution.

The expected values are not in the file: they are what the reference solution returns. Tests
come out unlabelled, and ``pipeline.checking.label_tests`` fills them in with a sandbox.
"""

import math
from typing import Any

from pipeline.datasets.build import blank_test, build_problem
from pipeline.datasets.fields import Record
from pipeline.records import Problem


def convert(record: Record, dataset: str) -> Problem:
    """Turn a record in EvalPlus's own fields into a problem with unlabelled tests."""
    prompt = record.text("prompt")
    problem = build_problem(
        record,
        dataset=dataset,
        problem_id=record.identity("task_id"),
        prompt=prompt,
        entry_point=record.text("entry_point"),
        canonical_solution=prompt + record.text("canonical_solution"),
    )
    atol = record.number("atol") or None
    for source, field in (("base", "base_input"), ("plus", "plus_input")):
        for args in record.items(field):
            if not isinstance(args, list):
                raise record.error(f"field {field!r} must hold lists of arguments, got {args!r}")
            call = ", ".join(map(_source, args))
            problem["tests"].append(blank_test(len(problem["tests"]), call, atol, source))
    return problem


def _source(value: Any) -> str:
    """Return Python source of a JSON value; its repr, but for floats that have no literal."""
    match value:
        case float() if not math.isfinite(value):
            return f"float({str(value)!r})"
        case list():
            return f"[{', '.join(map(_source, value))}]"
        case dict():
            return f"{{{', '.join(f'{_source(k)}: {_source(v)}' for k, v in value.items())}}}"
    return repr(value)
