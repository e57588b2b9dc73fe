"""What every converter shares: from parts of a record to a ``Problem`` with its ``Test``s."""

import ast

from pipeline.datasets.asserts import Case, Split
from pipeline.datasets.fields import Record
from pipeline.datasets.headers import BadPrompt, split_prompt
from pipeline.parsing import parse_module
from pipeline.records import Problem, Test
from sandbox.encoding import encode


def build_problem(
    record: Record,
    *,
    dataset: str,
    problem_id: str,
    prompt: str,
    entry_point: str,
    canonical_solution: str | None,
) -> Problem:
    """Return a problem without tests, its prompt taken apart.

    Raises:
        UserError: the prompt does not parse or does not define the entry point.
    """
    try:
        header = split_prompt(prompt, entry_point)
    except BadPrompt as error:
        raise record.error(f"problem {problem_id!r}: {error}") from error
    return Problem(
        problem_id=problem_id,
        dataset=dataset,
        prompt=prompt,
        entry_point=entry_point,
        preamble=header.preamble,
        signature=header.signature,
        docstring=header.docstring,
        tests=[],
        canonical_solution=canonical_solution,
    )


def build_test(number: int, split: Split, source: str) -> Test:
    """Return one test of a suite that was taken apart."""
    if isinstance(split, Case):
        return case_test(number, split, source)
    return check_test(number, split.source, source)


def case_test(number: int, case: Case, source: str) -> Test:
    """Return a test of one call, its expected value encoded."""
    expected = case.expected
    # A tolerance is about floats: where one was given, a whole number stands for its float.
    if case.comparator == "approx" and type(expected) is int:
        expected = float(expected)
    return Test(
        test_id=str(number),
        args=case.args,
        check=None,
        expected=encode(expected),
        comparator=case.comparator,
        atol=case.atol,
        source=source,
    )


def blank_test(number: int, args: str, atol: float | None, source: str) -> Test:
    """Return a test whose expected value is what the canonical solution returns."""
    return Test(
        test_id=str(number),
        args=args,
        check=None,
        expected=None,
        comparator="python" if atol is None else "approx",
        atol=atol,
        source=source,
    )


def check_test(number: int, check: str, source: str) -> Test:
    """Return an assert-test."""
    return Test(
        test_id=str(number),
        args=None,
        check=check,
        expected=None,
        comparator="exact",
        atol=None,
        source=source,
    )


def module_body(record: Record, field: str, source: str) -> list[ast.stmt]:
    """Return the statements of a field that holds Python source.

    Raises:
        UserError: it does not parse.
    """
    try:
        return parse_module(source).body
    except (SyntaxError, ValueError) as error:
        raise record.error(f"field {field!r} is not Python: {error}") from error
