"""What is told of a run, as plain numbers by name; pure."""

from collections.abc import Iterator, Mapping
from typing import Any

_ENDS = ("low", "high", "n")
_STEP = "step"


def score_figures(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Return a run's scores with their intervals, flat.

    A score ``NAME`` comes with ``NAME/low``, ``NAME/high`` (95 % interval) and ``NAME/n`` (chains
    that count). What is undefined is left out.

    Args:
        metrics: the content of ``metrics.json``.
    """
    figures: dict[str, float] = {}
    for name, value in _estimates(metrics):
        figures |= _spread(name, value)
    for ending in metrics.get("endings", ()):
        figures[f"endings/{ending['reason']}"] = ending["chains"]
    for part, cost in metrics.get("spending", {}).items():
        figures |= {f"{part}/{name}": amount for name, amount in cost.items()}
    return figures


def step_figures(metrics: Mapping[str, Any]) -> list[dict[str, float]]:
    """Return one row of scores for each step after step 0, for charts over the step."""
    rows = []
    for scores in metrics.get("steps", ()):
        row: dict[str, float] = {_STEP: scores[_STEP]}
        for name, value in scores.items():
            if name != _STEP:
                row |= _spread(name, value)
        rows.append(row)
    return rows


def told_config(plain: Mapping[str, Any], *, texts: bool) -> dict[str, Any]:
    """Return a configuration as it may leave the machine.

    Environment variables of the engine keep their names only: they may hold keys.

    Args:
        plain: as ``pipeline.compose.to_plain`` gives it.
        texts: whether prompt texts may leave.
    """
    told: dict[str, Any] = {}
    for key, value in plain.items():
        if key == "env":
            told[key] = sorted(value)
        elif isinstance(value, Mapping) and key in _NAMES and not texts:
            told[key] = {name: value[name] for name in _NAMES[key] if name in value}
        elif isinstance(value, Mapping):
            told[key] = told_config(value, texts=texts)
        elif texts or key not in _TEXTS:
            told[key] = value
    return told


_NAMES = {"prompt": ("name", "style", "examples"), "example": ("problem_id", "name")}
_TEXTS = ("chat_template",)


def _estimates(metrics: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for k, value in metrics.get("pass_at", {}).items():
        yield f"pass@{k}", value
    for scores in metrics.get("steps", ()):
        for name, value in scores.items():
            if name != _STEP:
                yield f"{name}_{scores[_STEP]}", value
    for part in ("endless", "shares"):
        for name, value in metrics.get(part, {}).items():
            if isinstance(value, Mapping):
                yield f"{part}/{name}", value
    for score, figures in metrics.get("scores", {}).items():
        for name, value in figures.items():
            yield f"{score}/{name}", value


def _spread(name: str, estimate: Mapping[str, Any]) -> dict[str, float]:
    if estimate["value"] is None:
        return {}
    ends = {f"{name}/{end}": estimate[end] for end in _ENDS if estimate.get(end) is not None}
    return {name: estimate["value"], **ends}
