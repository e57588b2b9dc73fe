"""The worked example of the prompts: written out in the configuration, or a problem's own texts."""

from dataclasses import replace

import pyarrow as pa

from conf import DatasetConfig, ExampleConfig, RunConfig, UserError
from pipeline.datasets import load_problems
from pipeline.descriptions import describe_view
from pipeline.records import Problem

PROMPT_SIGN = ">>>"


def with_example(config: RunConfig) -> RunConfig:
    """Return the configuration with the texts of its worked example, if it has one.

    Raises:
        UserError: the data set has no such problem, or one without a solution.
    """
    example = config.example
    if example.program or not example.problem_id:
        return config
    return replace(config, example=_of_problem(_find(config.dataset, example.problem_id)))


def unused_problems(config: RunConfig, problems: pa.Table) -> dict[str, str]:
    """Return the problems that a run cannot use although they are sound, with the reason.

    The prompts give away the worked example; a chain that starts from code needs a solution.
    """
    reasons = {}
    for row in problems.select(["problem_id", "canonical_solution"]).to_pylist():
        if config.chain.start == "code" and row["canonical_solution"] is None:
            reasons[row["problem_id"]] = "it has no solution to start from (chain.start=code)"
        if row["problem_id"] == config.example.problem_id:
            reasons[row["problem_id"]] = "it is the worked example of the prompts"
    return reasons


def _find(dataset: DatasetConfig, problem_id: str) -> Problem:
    every = load_problems(replace(dataset, ids=[], limit=None)).to_pylist()
    found: list[Problem] = [problem for problem in every if problem["problem_id"] == problem_id]
    where = f"example.problem_id={problem_id}"
    if not found:
        raise UserError(f"{where}: the data set has no such problem; example=clamp needs none")
    if found[0]["canonical_solution"] is None:
        raise UserError(f"{where}: the problem has no solution to show; choose another")
    return found[0]


def _of_problem(problem: Problem) -> ExampleConfig:
    """Take the texts of a problem; its solution loses the docstring and what stands before it."""
    name, solution = problem["entry_point"], problem["canonical_solution"] or ""
    description, sign, calls = problem["docstring"].partition(PROMPT_SIGN)
    return ExampleConfig(
        problem_id=problem["problem_id"],
        name=name,
        header=problem["prompt"],
        program=describe_view(solution, name),
        description=description.strip(),
        calls=(sign + calls).strip(),
    )
