"""Rescoring a recorded IdentityChain file: ``rescore FILE scoring=reference|strict``."""

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from analysis.intervals import Estimate, estimate_means
from analysis.recorded import RecordedChain, read_recorded
from analysis.reference import (
    RULES,
    SCORINGS,
    Change,
    Rules,
    list_changes,
    rules_of,
    score_recorded,
)
from conf import UserError

_SCORES = ("passed", "tom", "sc", "ssc", "pfm", "same_text")
_RULES_SAY = {
    "all_passed": "only a program with every test passed passes (release: with no 'Error')",
    "time_outs_differ": "a time-out against another result differs (release: is left out)",
    "execution_decides": "equal programs are compared by their results (release: by their text)",
    "messages_scrubbed": "errors match without line numbers, addresses, names (release: with them)",
    "nothing_undefined": "no test to compare leaves TOM undefined (release: makes it 0)",
}


@dataclass(frozen=True, slots=True)
class RescoredStep:
    """The scores at one step; null values where a score needs a step before."""

    step: int
    passed: Estimate
    """Share of programs that pass; at step 0 this is Pass@1."""
    tom: Estimate
    """Mean Test Output Match with the step before."""
    sc: Estimate
    """SC_n: share of chains with TOM = 1 at every transition so far."""
    ssc: Estimate
    """SSC_n: share of chains whose programs so far all pass."""
    pfm: Estimate
    """P/FM: share of transitions from pass to pass or from fail to fail."""
    same_text: Estimate
    """Share of programs with the text of the one before (exact match)."""


@dataclass(frozen=True, slots=True)
class RuleEffect:
    """What one of our rules changes when it alone replaces the release's."""

    rule: str
    """A field of ``Rules``."""
    points: dict[str, float]
    """Change in percentage points by score, ``SCORE_STEP``; scores that do not change left out."""


@dataclass(frozen=True, slots=True)
class RescoreReport:
    """Recorded chains under one scoring."""

    name: str
    scoring: str
    chains: int
    steps: tuple[RescoredStep, ...]
    """Step 0 first."""
    changes: tuple[Change, ...]
    """What ``strict`` sees differently from ``reference``; empty under ``reference``."""
    effects: tuple[RuleEffect, ...]
    """The same by rule, in points; empty under ``reference``."""


def rescore(path: Path, scoring: str, *, seed: int = 0) -> RescoreReport:
    """Score a recorded file.

    Args:
        path: IdentityChain JSON Lines, plain or gzip.
        scoring: ``reference`` or ``strict``.
        seed: of the intervals' resamples.

    Raises:
        UserError: no such scoring, or the file is not such a record.
    """
    return rescore_chains(path.name, read_recorded(path), scoring, seed=seed)


def rescore_chains(
    name: str, chains: Iterable[RecordedChain], scoring: str, *, seed: int = 0
) -> RescoreReport:
    """Score recorded chains, or a run's as ``analysis/retold.py`` tells them.

    Args:
        name: what to call them.
        chains: at least one.
        scoring: ``reference`` or ``strict``.
        seed: of the intervals' resamples.

    Raises:
        UserError: no such scoring, or no chain.
    """
    rules = rules_of(scoring)
    chains = list(chains)
    if not chains:
        raise UserError(f"{name}: holds no chain")
    is_strict = rules == SCORINGS["strict"]
    return RescoreReport(
        name=name,
        scoring=scoring,
        chains=len(chains),
        steps=estimate_recorded(score_recorded(chains, rules), seed=seed),
        changes=list_changes(chains) if is_strict else (),
        effects=rule_effects(chains) if is_strict else (),
    )


def estimate_recorded(scored: pl.DataFrame, *, seed: int = 0) -> tuple[RescoredStep, ...]:
    """Return the scores of each step with intervals, from a frame of schema ``SCORED``."""
    wide = _widen(scored)
    names = [name for name in wide.columns if name != "problem_id"]
    estimates = estimate_means(
        wide.select(pl.col(names).fill_null(np.nan)).to_numpy(),
        counts=[wide[name].count() for name in names],
        binary=[not name.startswith("tom_") for name in names],
        of=wide.height,
        seed=seed,
    )
    by_name = dict(zip(names, estimates, strict=True))
    return tuple(
        RescoredStep(step, *(by_name[f"{score}_{step}"] for score in _SCORES))
        for step in range(len(names) // len(_SCORES))
    )


def rule_effects(chains: Sequence[RecordedChain]) -> tuple[RuleEffect, ...]:
    """Return what each of our rules alone changes against the release's, in points."""
    reference = SCORINGS["reference"]
    before = _means(chains, reference)
    effects = []
    for rule in RULES:
        after = _means(chains, dataclasses.replace(reference, **{rule: True}))
        points = {
            name: 100 * (new - old)
            for name, old in before.items()
            if old is not None and (new := after[name]) is not None and new != old
        }
        effects.append(RuleEffect(rule, points))
    return tuple(effects)


def render_rescore(report: RescoreReport) -> list[str]:
    """Return the report as lines of text."""
    counted = f"{report.chains} chains, scoring={report.scoring}, with 95 % intervals"
    lines = [f"{report.name}: {counted}", ""]
    for step in report.steps:
        lines += _step_lines(step)
    if report.scoring == "strict":
        lines += ["", *_effect_lines(report), "", *_change_lines(report)]
    return lines


def _means(chains: Sequence[RecordedChain], rules: Rules) -> dict[str, float | None]:
    wide = _widen(score_recorded(chains, rules)).drop("problem_id")
    return wide.mean().row(0, named=True)


def _widen(scored: pl.DataFrame) -> pl.DataFrame:
    """Return one row a problem, with a column ``SCORE_STEP`` for each score and step."""
    steps = range(scored["step"].n_unique())
    return scored.group_by("problem_id", maintain_order=True).agg(
        pl.col(score)
        .filter(pl.col("step") == step)
        .first()
        .cast(pl.Float64)
        .alias(f"{score}_{step}")
        for step in steps
        for score in _SCORES
    )


def _step_lines(step: RescoredStep) -> list[str]:
    n = step.step
    if n == 0:
        return [_line("Pass@1, which is SSC_0", step.passed)]
    consistent = [
        _line(f"SC_{n}: share with TOM = 1 at every step", step.sc),
        _line(f"mean TOM of step {n}", step.tom, mean=True),
    ]
    if n == 1:
        consistent = [
            _line("SC_1 as published: share with TOM = 1", step.sc),
            _line("SC_1 as the paper's text has it: mean TOM", step.tom, mean=True),
        ]
    return [
        _line(f"passed at step {n}", step.passed),
        *consistent,
        _line(f"SSC_{n}: every program passes", step.ssc),
        _line(f"P/FM of step {n}: both pass or both fail", step.pfm),
        _line(f"EM of step {n}: same program text", step.same_text),
    ]


def _line(label: str, estimate: Estimate, *, mean: bool = False) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return f"{label:<44}-"
    n = estimate.n
    if mean:
        value, count = f"{estimate.value:.4f}  ", f"n={n}"
        interval = f"{estimate.low:.4f} to {estimate.high:.4f}"
    else:
        value, count = f"{100 * estimate.value:.2f} %", f"{round(estimate.value * n)}/{n}"
        interval = f"{100 * estimate.low:.1f} % to {100 * estimate.high:.1f} %"
    return f"{label:<44}{value:>8} {count:>9}  {interval} ({estimate.method})"


def _effect_lines(report: RescoreReport) -> list[str]:
    lines = ["Each rule alone against the release's, in points:"]
    for effect in report.effects:
        points = ", ".join(f"{name} {points:+.2f}" for name, points in effect.points.items())
        lines += [f"  {effect.rule}: {_RULES_SAY[effect.rule]}", f"    {points or 'no change'}"]
    return lines


def _change_lines(report: RescoreReport) -> list[str]:
    if not report.changes:
        return ["No verdict differs from scoring=reference."]
    lines = [f"{len(report.changes)} values differ from scoring=reference:"]
    for change in report.changes:
        old, new = (_show(value, change.score) for value in (change.reference, change.strict))
        because = ", ".join(change.rules)
        lines.append(
            f"  {change.problem_id} step {change.step}: {change.score} {old} -> {new} ({because})"
        )
    return lines


def _show(value: float | None, score: str) -> str:
    if value is None:
        return "undefined"
    return f"{value:.3f}" if score == "tom" else str(bool(value)).lower()
