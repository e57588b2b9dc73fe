"""Holdtrue's own problem format, as ``docs/data.md`` has it."""

from pipeline.datasets.asserts import Case
from pipeline.datasets.build import build_problem, case_test, check_test, module_body
from pipeline.datasets.fields import Record
from pipeline.datasets.headers import find_function
from pipeline.datasets.literals import NotLiteral, parse_arguments, parse_literal
from pipeline.parsing import parse_module
from pipeline.records import Problem, Test

COMPARATORS = ("exact", "python", "approx")


def convert(record: Record, dataset: str) -> Problem:
    """Turn a record in our own fields into a problem."""
    prompt, entry_point = record.text("prompt"), record.text("entry_point")
    problem = build_problem(
        record,
        dataset=dataset,
        problem_id=record.identity("problem_id"),
        prompt=prompt,
        entry_point=entry_point,
        canonical_solution=_solution(record, prompt, entry_point),
    )
    for number, item in enumerate(record.items("tests")):
        problem["tests"].append(_test(record.within(f"test {number}", item), number))
    return problem


def _solution(record: Record, prompt: str, entry_point: str) -> str | None:
    source = record.optional_text("canonical_solution")
    if source is None:
        return None
    try:
        whole = find_function(parse_module(source), entry_point) is not None
    except SyntaxError:  # the body alone, which continues the prompt
        whole = False
    return source if whole else prompt + source


def _test(record: Record, number: int) -> Test:
    check, args = record.optional_text("check"), record.optional_text("args")
    if (check is None) == (args is None):
        raise record.error("a test has either 'args' and 'expected', or a 'check'")
    if check is not None:
        module_body(record, "check", check)
        return check_test(number, check, "file")
    atol = record.number("atol")
    comparator = record.optional_text("comparator") or ("python" if atol is None else "approx")
    if comparator not in COMPARATORS:
        choices = ", ".join(COMPARATORS)
        raise record.error(f"field 'comparator' must be one of {choices}, got {comparator!r}")
    if (comparator == "approx") != (atol is not None):
        raise record.error("comparator 'approx' needs 'atol', and no other takes it")
    case = read_case(record, record.text("args"), record.text("expected"), comparator, atol)
    return case_test(number, case, "file")


def read_case(
    record: Record, args: str, expected: str, comparator: str, atol: float | None
) -> Case:
    """Return a case from the source texts of its arguments and of its expected value.

    Raises:
        UserError: one of them does not parse, or the expected value is no literal.
    """
    try:
        parse_arguments(args)
    except NotLiteral as error:
        raise record.error(f"the arguments {args!r} do not parse: {error}") from error
    try:
        return Case(args, parse_literal(expected), comparator, atol)
    except NotLiteral as error:
        problem = f"the expected value {expected!r} is no Python literal: {error}"
        raise record.error(problem) from error
