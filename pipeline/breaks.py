"""The ``broken`` command: where a run's chains broke, and how much of its consistency is copied."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from analysis.blame import FINDINGS
from analysis.broken import CLOSING, INCOMPARABLE, OUTPUTS
from pipeline.commands import Command
from pipeline.display import shorten, show_value
from pipeline.fetching import fetch_run
from pipeline.masking import MASK
from pipeline.records import Problem
from pipeline.words import read_words
from sandbox.types import Kind

if TYPE_CHECKING:
    from pipeline.stored_run import StoredRun

WIDTH = 60


def _broken(words: list[str]) -> int:
    from rich.console import Console

    from analysis.blame import blamed_chains, measure_blame, render_blame
    from analysis.broken import broken_chains
    from analysis.copying import measure_copying, render_copying
    from pipeline.stored_run import read_stored, show_texts

    given = read_words("broken", words, places=["RUN"], keys={"json": "false"})
    run = read_stored(fetch_run(given.places[0]))
    problems = run.problems()
    length = run.config.chain.length
    rows = broken_chains(run.tables, length).rows(named=True)
    blamed = {row["chain_id"]: row for row in blamed_chains(run.tables, length).to_dicts()}
    shown = [
        _explain(row, problems[row["problem_id"]]) | _blame(blamed[row["chain_id"]]) for row in rows
    ]
    blame = measure_blame(run.tables, length) if run.config.chain.blame else None
    copying = measure_copying(show_texts(run.tables, problems), length, seed=run.config.seed)
    if given.flag("json"):
        parts = {"blame": blame.to_json() if blame else None, "copying": copying.to_json()}
        print(json.dumps({"broken": shown, **parts}, indent=2))
        return 0
    for line in _lines(shown, run):
        print(line)
    console = Console(highlight=False)
    if blame:
        console.print(render_blame(blame))
    print()
    console.print(render_copying(copying))
    return 0


def _explain(row: dict[str, Any], problem: Problem) -> dict[str, Any]:
    """Return a broken chain with its first differing test and both outcomes as short texts."""
    test = next((t for t in problem["tests"] if t["test_id"] == row["test_id"]), None)
    called = None
    if test is not None:
        called = "its assertions" if test["args"] is None else f"{MASK}({shorten(test['args'])})"
    return {
        "chain_id": row["chain_id"],
        "from_step": row["from_step"],
        "to_step": row["to_step"],
        "reason": row["reason"],
        "differing": row["differing"],
        "comparable": row["comparable"],
        "test_id": row["test_id"],
        "call": called,
        "before": _outcome(row, "before"),
        "after": _outcome(row, "after"),
    }


def _blame(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("blame", "sampled", *FINDINGS)}


def _outcome(row: dict[str, Any], side: str) -> str | None:
    kind = row[f"{side}_kind"]
    if kind is None:
        return None
    if kind == Kind.VALUE:
        return show_value(row[f"{side}_encoding"], WIDTH)
    return f"{kind}: {shorten(row[f'{side}_message'], WIDTH)}".removesuffix(": ")


def _lines(shown: list[dict[str, Any]], run: "StoredRun") -> Iterator[str]:
    chains = len(run.tables.chains.collect())
    counts = Counter(row["reason"] for row in shown).most_common()
    kinds = ", ".join(f"{reason} {count}" for reason, count in counts)
    yield f"{len(shown)} of {chains} chains broke" + (f": {kinds}" if kinds else "")
    for row in shown:
        yield f"{row['chain_id']}, {_where(row)}: {_what(row)}{_who(row)}"


def _where(row: dict[str, Any]) -> str:
    before = "" if row["from_step"] is None else f"{row['from_step']} -> "
    return f"step {before}{row['to_step']}"


def _what(row: dict[str, Any]) -> str:
    differ = f"{row['differing']} of {row['comparable']} tests differ"
    change = f"{row['before']} -> {row['after']}"
    return {
        OUTPUTS: f"{differ}; test {row['test_id']}, {row['call']}: {change}",
        CLOSING: f"{differ} on the way back to the cycle's start",
        INCOMPARABLE: "no test can be compared",
        "unparsable": "the model gave nothing usable",
        "truncated": "the token limit came first",
    }[row["reason"]]


def _who(row: dict[str, Any]) -> str:
    """Return who is to blame, with the counts, if anyone asked."""
    if row["blame"] is None:
        return ""
    counts = f"{row['agrees']} agree, {row['differs']} differ of {row['sampled']} more programs"
    return f"; blame: {row['blame']}" + (f" ({counts})" if row["sampled"] else "")


BREAK_COMMANDS = {
    "broken": Command(
        "list where a run's chains broke",
        """usage: ./launch.sh broken RUN [json=true]

For every chain whose behaviour changed: the first transition that changed it and the first test
that shows it, with what it came to before and after; or that the model gave no program. Of a run
with chain.blame=K also whether the description or the program is to blame. Then how
many descriptions copy the code they describe, and SC without their chains (docs/scoring.md).""",
        _broken,
    ),
}
