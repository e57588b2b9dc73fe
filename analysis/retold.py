"""A run of ours told in the release's words, so that the release's rules can score it.

Our verdicts know more than the release's texts; what it has no word for gets the nearest one:

- Memory, too much output and a crash end in an error there, if not in the end of the evaluation.
- A value that has no encoding would fail its comparison there.
- A program that does not load has the same error on every test.
- A test that was skipped, because others used up the program's time, is a time-out.
- A chain whose model gave no program goes on there with an empty one, which is a syntax error.

A repeated step of a closed chain is a copy, as the release's early stop makes them. Steps that are
unknown, beyond a failure that was not the model's doing or beyond ``decided``, are not there.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

import polars as pl

from analysis.recorded import PASSED, TIME_OUT, RecordedChain, RecordedStep
from analysis.tables import MODEL_FAILURES, RunTables
from analysis.unroll import unroll
from conf import UserError

NO_PROGRAM = "SyntaxError: no program"
_KEY = ["chain_id", "source"]


def retell_run(
    tables: RunTables, names: Mapping[str, str], show: Callable[[str], str]
) -> list[RecordedChain]:
    """Return a run's chains as the release would have recorded them.

    Args:
        tables: the run.
        names: each problem's function name.
        show: ``str`` of the value that a canonical encoding stands for.

    Returns:
        One chain for each of the run's; named by its problem if that has one chain, else by its
        chain id. Programs are as stored, at step 0 with the real name.

    Raises:
        UserError: a problem has no name.
    """
    length = tables.chains.select(pl.col("length").max()).collect().item() or 0
    rows = _made_steps(tables, length)
    return [
        _chain(list(steps), names, show) for _, steps in groupby(rows, lambda row: row["chain_id"])
    ]


def _made_steps(tables: RunTables, length: int) -> list[dict[str, Any]]:
    """Return the known steps of every chain in order, each with its tests' outcomes."""
    results = tables.outcomes.group_by("chain_id", source="step", maintain_order=True).agg(
        outcomes=pl.struct("verdict", "encoding", "message")
    )
    texts = tables.steps.select("chain_id", "nl", "pl", "load", "load_message", source="step")
    lost = pl.col("stop_reason").is_in(MODEL_FAILURES) & (pl.col("step") >= pl.col("stop_step"))
    return (
        unroll(tables, length)
        .join(tables.chains.select("chain_id", "stop_reason", "stop_step"), "chain_id")
        .join(results, _KEY, how="left")
        .join(texts, _KEY, how="left")
        .with_columns(lost=lost, alone=pl.col("chain_id").n_unique().over("problem_id") == 1)
        .filter(pl.col("known") & (pl.col("lost") | pl.col("outcomes").is_not_null()))
        .sort("problem_id", "sample", "step")
        .collect()
        .rows(named=True)
    )


def _chain(
    rows: list[dict[str, Any]], names: Mapping[str, str], show: Callable[[str], str]
) -> RecordedChain:
    first = rows[0]
    problem = first["problem_id"]
    if problem not in names:
        raise UserError(f"the run's problem {problem!r} is not in the data set any more")
    tests = len(first["outcomes"] or ()) or 1
    steps = []
    for row in rows:
        if row["lost"]:
            results = (NO_PROGRAM,) * tests
        else:
            results = tell_results(row["load"], row["load_message"], row["outcomes"], show)
        steps.append(RecordedStep(row["nl"] or "", row["pl"] or "", results))
    return RecordedChain(
        problem_id=problem if first["alone"] else first["chain_id"],
        function_name=names[problem],
        function_signature="",
        steps=tuple(steps),
    )


def tell_results(
    load: str | None,
    load_message: str | None,
    outcomes: Sequence[Mapping[str, Any]],
    show: Callable[[str], str],
) -> tuple[str, ...]:
    """Return what the release would have recorded of one program.

    Args:
        load: whether the program could be loaded, as in the table ``steps``.
        load_message: why not.
        outcomes: one for each test: ``verdict``, ``encoding``, ``message``.
        show: ``str`` of the value that a canonical encoding stands for.
    """
    if load in (None, "ok"):
        return tuple(_result(outcome, show) for outcome in outcomes)
    return (_not_loaded(load, load_message or ""),) * len(outcomes)


def _not_loaded(load: str | None, message: str) -> str:
    match load:
        case "syntax" | "error":
            # The release compiles from a text, so that is what its messages call the file.
            message = message.replace("(<program>, line", "(<string>, line")
            return message if ": " in message else f"{message}: "
        case "no_code":
            return NO_PROGRAM
        case "timeout":
            return TIME_OUT
        case "memory":
            return f"MemoryError: {message}"
        case _:
            return f"Error: {load}: {message}"


def _result(outcome: Mapping[str, Any], show: Callable[[str], str]) -> str:
    verdict, encoding, message = outcome["verdict"], outcome["encoding"], outcome["message"]
    match verdict:
        case "pass":
            return PASSED
        case "timeout" | "skipped":
            return TIME_OUT
        case "fail" | "unencodable":
            return f"AssertionError: outputs {message if encoding is None else show(encoding)}"
        case "error" if encoding is not None:
            kind, _, text = json.loads(encoding)
            return f"{kind}: {text}"
        case "memory":
            return f"MemoryError: {message}"
        case _:
            return f"Error: {verdict}: {message}"
