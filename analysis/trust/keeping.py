"""Fitted models in files, and on other models' samples: recalibration, and a warning of drift.

A model file is JSON: names of features and the numbers of the regressions or trees. Ranking carries
over from one code model to another far better than calibration does, so a kept model is
recalibrated on a few labelled problems of the new one where there are some.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.intervals import bootstrap_interval
from analysis.trust.linear import Linear, fit_linear, log_odds
from analysis.trust.models import BoostedModel, PooledModel, TwoStageModel
from analysis.trust.trees import Forest, Tree
from conf import UserError

Vector = npt.NDArray[np.float64]
KINDS: dict[str, Any] = {
    "pooled": PooledModel,
    "two_stage": TwoStageModel,
    "boosted": BoostedModel,
}
RECALIBRATION_C = 1.0


@dataclass
class KeptModel:
    """A fitted model, the base rate it was fitted at, and its recalibration, if any."""

    kind: str
    model: PooledModel | TwoStageModel | BoostedModel
    base_rate: float
    recalibration: Linear | None = None

    @classmethod
    def fit(cls, kind: str, features: tuple[str, ...], frame: pl.DataFrame) -> Self:
        """Fit a model of a kind (one of ``KINDS``) on labelled rows."""
        return cls(kind, KINDS[kind](features).fit(frame), _base_rate(frame))

    def predict(self, frame: pl.DataFrame) -> Vector:
        """Return probabilities."""
        raw = self.model.predict(frame)
        if self.recalibration is None:
            return raw
        return self.recalibration.probability(log_odds(raw)[:, None])

    def recalibrate(self, frame: pl.DataFrame) -> Self:
        """Return this model with its log-odds scaled and shifted to fit labelled rows.

        Platt (1999), on the log-odds.

        Raises:
            UserError: the rows are all right or all wrong.
        """
        if frame["correct"].n_unique() < 2:
            raise UserError(
                "recalibration needs right and wrong programs; label more problems, or go without"
            )
        odds = log_odds(self.model.predict(frame))[:, None]
        linear = fit_linear(odds, frame["correct"].to_list(), c=RECALIBRATION_C)
        return type(self)(self.kind, self.model, _base_rate(frame), linear)

    def drift(self, frame: pl.DataFrame, *, seed: int = 0) -> str | None:
        """Return a warning if the base rate of labelled rows is not the one it was fitted at."""
        rates = frame.group_by("problem_id", maintain_order=True).agg(pl.col("correct").mean())
        low, high = bootstrap_interval(rates["correct"].to_numpy(), seed=seed)
        if low <= self.base_rate <= high:
            return None
        return (
            f"the model was fitted where {self.base_rate:.0%} of programs are right; here it is "
            f"{low:.0%} to {high:.0%}: recalibrate it on labelled problems"
        )

    def save(self, path: Path) -> None:
        """Write the model to a file."""
        path.write_text(json.dumps(asdict(self), allow_nan=False) + "\n")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a model from a file.

        Raises:
            UserError: there is none, or it is not a model's.
        """
        try:
            fields = json.loads(path.read_text())
            inner: dict[str, Any] = {
                name: _part(value) if isinstance(value, dict) else value
                for name, value in fields["model"].items()
            }
            inner["features"] = tuple(map(str, fields["model"]["features"]))
            model = KINDS[fields["kind"]](**inner)
            again = fields["recalibration"]
            return cls(fields["kind"], model, float(fields["base_rate"]), again and _linear(again))
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}") from error
        except (ValueError, TypeError, LookupError) as error:
            raise UserError(f"{path}: is no trust model: {error}") from error


def _base_rate(frame: pl.DataFrame) -> float:
    rates = frame.group_by("problem_id").agg(pl.col("correct").mean())["correct"]
    return float(rates.to_numpy().mean())


def _part(fields: dict[str, Any]) -> Linear | Forest:
    if "trees" not in fields:
        return _linear(fields)
    trees = (Tree(**{name: tuple(values) for name, values in t.items()}) for t in fields["trees"])
    return Forest(float(fields["bias"]), tuple(trees))


def _linear(fields: dict[str, Any]) -> Linear:
    vectors = {name: tuple(map(float, fields[name])) for name in ("center", "scale", "weights")}
    return Linear(**vectors, bias=float(fields["bias"]))
