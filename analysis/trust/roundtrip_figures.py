"""How round-trip consistency relates to correctness: one paper's quantity against the other's.

Round-trip consistency is the share of tests whose output survives one round trip through words
(TOM_1, arXiv 2310.14053, section 4.3); correctness is passing the hidden tests (arXiv 2210.00848).
Intervals are percentile bootstraps over problems.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.trust.calibration import auroc
from analysis.trust.figures import Figure, draw_problems, figure_of

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RoundTripFigures:
    """Of the labelled samples for which there is a chain; null where undefined."""

    samples: int
    problems: int
    consistent: int
    """Samples whose outputs all survive."""
    right_consistent: Figure
    """Share of these that are right."""
    right_other: Figure
    """Share of the others that are right."""
    difference: Figure
    """Of the two shares."""
    auroc: Figure
    """Chance that a right sample is more consistent than a wrong one."""
    within: Figure
    """The same among samples of one problem; problems with right and wrong samples count alike."""

    def lines(self) -> Iterator[str]:
        """Yield what it says, for people."""
        yield (
            f"round trip: {self.samples} samples of {self.problems} problems began a chain, of "
            f"{self.consistent} all outputs survive one round trip"
        )
        yield f"  right, of those that survive: {_said(self.right_consistent)}"
        yield f"  right, of the others:         {_said(self.right_other)}"
        yield f"  difference:                   {_said(self.difference)}"
        yield f"  AUROC of TOM_1 for right:     {_said(self.auroc)}"
        yield f"  the same within problems:     {_said(self.within)}"


def relate_round_trips(frame: pl.DataFrame, *, seed: int = 0) -> RoundTripFigures:
    """Relate round-trip consistency to correctness.

    Args:
        frame: as ``sample_features`` returns it, with chains.
        seed: of the resamples.
    """
    known = frame.filter(pl.col("correct").is_not_null() & pl.col("round_trip").is_not_null())
    trip = known["round_trip"].to_numpy().astype(float)
    right = known["correct"].cast(pl.Float64).to_numpy()
    problem = known["problem_id"].rle_id().to_numpy()
    count = int(problem.max()) + 1 if len(problem) else 0
    survives = (trip >= 1.0).astype(float)

    def resampled(value: Callable[[Vector], float | None]) -> Figure:
        if not count:
            return Figure(None)
        draws = draw_problems(count, seed)
        values = [value(draw[problem].astype(float)) for draw in draws]
        return figure_of(value(np.ones(len(trip))), np.array(values, dtype=float))

    def share(kept: Vector, times: Vector) -> float | None:
        total = float((kept * times).sum())
        return float((kept * times * right).sum()) / total if total else None

    def difference(times: Vector) -> float | None:
        one, other = share(survives, times), share(1 - survives, times)
        return None if one is None or other is None else one - other

    return RoundTripFigures(
        samples=known.height,
        problems=count,
        consistent=int(survives.sum()),
        right_consistent=resampled(lambda times: share(survives, times)),
        right_other=resampled(lambda times: share(1 - survives, times)),
        difference=resampled(difference),
        auroc=resampled(lambda times: auroc(trip, right, times)),
        within=_within(trip, right, problem, count, seed),
    )


def _within(
    trip: Vector, right: Vector, problem: npt.NDArray[np.int64], count: int, seed: int
) -> Figure:
    each = np.array(
        [auroc(trip[problem == n], right[problem == n]) for n in range(count)], dtype=float
    )
    each = each[~np.isnan(each)]
    if not len(each):
        return Figure(None)
    draws = draw_problems(len(each), seed)
    return figure_of(float(each.mean()), draws @ each / len(each))


def _said(figure: Figure) -> str:
    if figure.value is None:
        return "-"
    if figure.low is None or figure.high is None:
        return f"{figure.value:.3f}"
    return f"{figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}]"
