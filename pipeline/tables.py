"""Chains as tables: open ones from problems, finished ones as the tables of a run."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from conf import RunConfig
from pipeline.records import Answer, Execution, Resample, Step
from pipeline.roles import GENERATE, ROLES, SUMMARIZE, make_resampling, make_sampling
from pipeline.schemas import OPEN_CHAIN, RUN_TABLES

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class OpenChains:
    """Chains that are still to be made; their problems' texts are there once."""

    problems: pa.Table
    """Schema PROBLEM."""
    chains: pa.Table
    """Schema OPEN_CHAIN."""

    @property
    def num_rows(self) -> int:
        """How many chains."""
        return int(self.chains.num_rows)

    def problem_ids(self) -> set[str]:
        """Return the problems that have an open chain."""
        return set(self.chains["problem_id"].unique().to_pylist())

    def rows(self) -> Rows:
        """Return all of them begun, as rows of schema CHAIN_ROW."""
        return Problems(self.problems).begin(self.chains)


class Problems:
    """Puts chains together with their problems.

    Args:
        table: schema PROBLEM.
    """

    def __init__(self, table: pa.Table) -> None:
        self._rows = {problem["problem_id"]: problem for problem in table.to_pylist()}

    def begin(self, chains: pa.Table) -> Rows:
        """Return rows of schema CHAIN_ROW at the start of their chains; takes OPEN_CHAIN."""
        return [
            {
                **self._rows[chain["problem_id"]],
                "chain_id": chain_id(chain["problem_id"], chain["sample"]),
                "sample": chain["sample"],
                "summary": None,
                "generation": None,
                "execution": None,
                "steps": [],
                "stop": None,
                "resamples": [],
            }
            for chain in chains.to_pylist()
        ]

    def join(self, chains: pa.Table) -> Rows:
        """Return rows of schema CHAIN_ROW; takes IN_TRANSIT."""
        return [{**self._rows[chain["problem_id"]], **chain} for chain in chains.to_pylist()]


def chain_id(problem_id: str, sample: int) -> str:
    """Return the name of a chain."""
    return f"{problem_id}/{sample}"


def open_chains(problems: pa.Table, config: RunConfig, *, finished: set[str]) -> OpenChains:
    """Return the chains that are still to be made.

    Args:
        problems: schema PROBLEM.
        config: the run; it says how many chains a problem gets.
        finished: ids of chains that an earlier start has made.
    """
    wanted = [
        (problem, sample)
        for problem in problems["problem_id"].to_pylist()
        for sample in range(config.chain.samples)
        if chain_id(problem, sample) not in finished
    ]
    ids, samples = ([pair[part] for pair in wanted] for part in (0, 1))
    return OpenChains(problems, pa.table([ids, samples], schema=OPEN_CHAIN))


def to_tables(
    chains: Iterable[dict[str, Any]],
    *,
    config: RunConfig,
    model: str,
    describer: str | None = None,
) -> dict[str, pa.Table]:
    """Return one Arrow table for each of RUN_TABLES.

    Args:
        chains: rows of schema IN_TRANSIT that have stopped.
        config: the run they belong to.
        model: identity of the model that answered.
        describer: identity of the model that described, if it was another.
    """
    rows: dict[str, Rows] = {name: [] for name in RUN_TABLES}
    sampling = sampling_texts(config)
    resampling = make_resampling(config).to_json()
    for chain in chains:
        rows["chains"].append(_chain(chain, config.chain.length))
        for step in chain["steps"]:
            key = _step_key(chain, step)
            rows["steps"].append(key | _step(step))
            rows["outcomes"] += [key | outcome for outcome in _outcomes(step["execution"])]
            for role, answer in _answers(step):
                by = describer if describer and role == SUMMARIZE else model
                asked = {"role": role, "model": by, "sampling": sampling[role]}
                rows["completions"].append(key | asked | answer)
        asked = {"model": model, "sampling": resampling}
        rows["resamples"] += [_resample(chain, made) | asked for made in chain["resamples"]]
    return {
        name: pa.Table.from_pylist(rows[name], schema=schema) for name, schema in RUN_TABLES.items()
    }


def sampling_texts(config: RunConfig) -> dict[str, str]:
    """Return the canonical text of each role's sampling parameters, seed apart."""
    return {role: make_sampling(config, role).to_json() for role in ROLES}


def _chain(chain: dict[str, Any], length: int) -> dict[str, Any]:
    stop = chain["stop"]
    return {
        "chain_id": chain["chain_id"],
        "problem_id": chain["problem_id"],
        "dataset": chain["dataset"],
        "sample": chain["sample"],
        "length": length,
        "steps": sum(step["execution"] is not None for step in chain["steps"]),
        "stop_reason": stop["reason"],
        "stop_step": stop["step"],
        "cycle_start": stop["cycle_start"],
        "cycle_length": stop["cycle_length"],
        "closing_comparable": stop["closing_comparable"],
        "closing_matching": stop["closing_matching"],
        "message": stop["message"],
    }


def _step_key(chain: dict[str, Any], step: Step) -> dict[str, Any]:
    return {
        "chain_id": chain["chain_id"],
        "problem_id": chain["problem_id"],
        "sample": chain["sample"],
        "step": step["index"],
    }


def _step(step: Step) -> dict[str, Any]:
    summary, generation, execution = step["summary"], step["generation"], step["execution"]
    asked = generation["answer"] if generation else None
    matches = [outcome["matches_previous"] for outcome in _outcomes(execution)]
    return {
        "nl": summary["nl"] if summary else None,
        "pl": generation["pl"] if generation else None,
        "summary_request": summary["answer"]["request_id"] if summary else None,
        "generation_request": asked["request_id"] if asked else None,
        "extraction": generation["extraction"] if generation else None,
        "load": execution["load"] if execution else None,
        "load_message": execution["load_message"] if execution else None,
        "verdict": execution["verdict"] if execution else None,
        "cpu_s": execution["cpu_s"] if execution else None,
        "isolation": execution["isolation"] if execution else None,
        "tests": len(matches),
        "comparable": sum(match is not None for match in matches),
        "matching": sum(match is True for match in matches),
    }


def _resample(chain: dict[str, Any], made: Resample) -> dict[str, Any]:
    generation, execution = made["generation"], made["execution"]
    matches = [outcome["matches_previous"] for outcome in _outcomes(execution)]
    return {
        "chain_id": chain["chain_id"],
        "problem_id": chain["problem_id"],
        "sample": chain["sample"],
        "step": made["to_step"],
        "from_step": made["from_step"],
        "index": made["index"],
        "finding": made["finding"],
        "pl": generation["pl"],
        "extraction": generation["extraction"],
        "load": execution["load"] if execution else None,
        "load_message": execution["load_message"] if execution else None,
        "verdict": execution["verdict"] if execution else None,
        "cpu_s": execution["cpu_s"] if execution else None,
        "comparable": sum(match is not None for match in matches),
        "matching": sum(match is True for match in matches),
        **(generation["answer"] or {}),
    }


def _outcomes(execution: Execution | None) -> list[Any]:
    return list(execution["outcomes"]) if execution else []


def _answers(step: Step) -> Iterable[tuple[str, Answer]]:
    if step["summary"]:
        yield SUMMARIZE, step["summary"]["answer"]
    if step["generation"] and step["generation"]["answer"]:
        yield GENERATE, step["generation"]["answer"]
