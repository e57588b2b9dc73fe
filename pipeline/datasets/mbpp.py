"""MBPP as published (Austin et al. 2021, arXiv 2108.07732): prose, code and assertions.

MBPP+ (Liu et al. 2023, arXiv 2305.01210) adds a harness, which holds the assertions' inputs too.

The prompt is made from the reference code's signature and the prose as its docstring.
"""

import ast

from pipeline.datasets.asserts import split_statements
from pipeline.datasets.build import build_problem, build_test, module_body
from pipeline.datasets.fields import Record
from pipeline.datasets.harness import read_harness
from pipeline.datasets.headers import BadPrompt, Header, split_prompt
from pipeline.masking import render_header
from pipeline.records import Problem


def convert(record: Record, dataset: str) -> Problem:
    """Turn a record in MBPP's own fields into a problem."""
    problem, asserts = _parts(record, dataset)
    imports = "\n".join(str(line) for line in record.fields.get("test_imports") or [])
    context = module_body(record, "test_imports", imports)
    splits = split_statements(asserts, context, problem["entry_point"])
    problem["tests"] = [build_test(n, split, "assert") for n, split in enumerate(splits)]
    return problem


def convert_plus(record: Record, dataset: str) -> Problem:
    """Turn a record in MBPP+'s own fields into a problem."""
    problem, _ = _parts(record, dataset)
    name, body = problem["entry_point"], module_body(record, "test", record.text("test"))
    plain = read_harness(body, body, name)
    splits = [] if plain is not None else split_statements(body, (), name)
    tests = [build_test(n, split, "harness") for n, split in enumerate(splits)]
    problem["tests"] = tests if plain is None else plain
    return problem


def _parts(record: Record, dataset: str) -> tuple[Problem, list[ast.stmt]]:
    """Return a problem without tests, and its assertions."""
    code = record.text("code")
    lines = [str(line) for line in record.items("test_list")]
    asserts = module_body(record, "test_list", "\n".join(lines))
    entry_point = _entry_point(record, code, asserts)
    signature = _header(record, code, entry_point).signature
    problem = build_problem(
        record,
        dataset=dataset,
        problem_id=record.identity("task_id"),
        prompt=render_header("", signature, record.text("prompt")),
        entry_point=entry_point,
        canonical_solution=code,
    )
    return problem, asserts


def _entry_point(record: Record, code: str, asserts: list[ast.stmt]) -> str:
    """Return the function of the code that the assertions call first."""
    body = module_body(record, "code", code)
    defined = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    for node in (node for statement in asserts for node in ast.walk(statement)):
        if isinstance(node, ast.Name) and node.id in defined:
            return node.id
    raise record.error("no assertion of 'test_list' calls a function of 'code'")


def _header(record: Record, code: str, entry_point: str) -> Header:
    try:
        return split_prompt(code, entry_point)
    except BadPrompt as error:
        raise record.error(f"field 'code': {error}") from error
