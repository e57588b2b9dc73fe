"""Where a run stands, counted by one small actor to which the stage actors report."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import ray


@dataclass
class Standing:
    """Sums since the start."""

    tokens: int = 0
    requests: int = 0
    steps_done: Counter[int] = field(default_factory=Counter)
    """Chains that finished a step, by step."""
    at: dict[int, dict[str, int]] = field(default_factory=dict)
    """Chains in each stage now, by round and stage."""

    def places(self) -> dict[str, dict[str, int]]:
        """Return how many rows are in which stage, by round; rounds without any are left out."""
        return {f"round {step}": stages for step, stages in sorted(self.at.items()) if stages}


@ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)
class Board:
    """Adds up what the stage actors report. Losing it loses a display, never a result."""

    def __init__(self) -> None:
        self.standing = Standing()

    def report(self, step: int, chains: int, requests: int, tokens: int) -> None:
        """Count a block of chains that finished a step."""
        self.standing.steps_done[step] += chains
        self.standing.requests += requests
        self.standing.tokens += tokens

    def occupy(self, step: int, at: dict[str, int]) -> None:
        """Note how many chains are in each stage of a round."""
        self.standing.at[step] = at

    def read(self) -> Standing:
        """Return the sums so far."""
        return self.standing


def count_resamples(rows: list[dict[str, Any]]) -> tuple[int, int, int]:
    """Return how many of these chains were sampled again, and their requests and tokens there."""
    answers = [made["generation"]["answer"] for row in rows for made in row["resamples"]]
    chains = sum(bool(row["resamples"]) for row in rows)
    return chains, len(answers), sum(answer["completion_tokens"] or 0 for answer in answers)


def count_step(rows: list[dict[str, Any]], step: int) -> tuple[int, int, int]:
    """Return how many of these chains made this step, and their requests and tokens in it."""
    chains = requests = tokens = 0
    for row in rows:
        made = row["steps"][-1] if row["steps"] else None
        if made is None or made["index"] != step:
            continue
        chains += 1
        for part in (made["summary"], made["generation"]):
            if part is not None and part["answer"] is not None:
                requests += 1
                tokens += part["answer"]["completion_tokens"] or 0
    return chains, requests, tokens
