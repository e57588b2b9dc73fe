"""Small data sets and readers for whole runs."""

import json
from pathlib import Path

import polars as pl

PROBLEMS = [
    {
        "problem_id": f"toy/{name}",
        "prompt": f'def {name}(n: int) -> int:\n    """{text}"""\n',
        "entry_point": name,
        "tests": [{"args": str(n), "expected": str(right(n))} for n in (1, 2, 5)],
        "canonical_solution": f"    return {body}\n",
    }
    for name, text, body, right in (
        ("increment", "Return n plus one.", "n + 1", lambda n: n + 1),
        ("double", "Return twice n.", "2 * n", lambda n: 2 * n),
        ("square", "Return n times n.", "n * n", lambda n: n * n),
    )
]


def write_problems(path: Path, problems=PROBLEMS) -> Path:
    path.write_text("".join(json.dumps(problem) + "\n" for problem in problems))
    return path


def only_run(runs: Path) -> Path:
    (run,) = runs.iterdir()
    return run


def table(run: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(run / name / "*.parquet")


def too_long(times=20_000):
    problem = dict(PROBLEMS[1])
    prompt = problem["prompt"].replace("Return", "Mind the edge cases. " * times + "Return")
    return {**problem, "problem_id": "toy/long", "prompt": prompt}


def broken_gold():
    return {**PROBLEMS[2], "problem_id": "toy/broken", "canonical_solution": "    return n\n"}
