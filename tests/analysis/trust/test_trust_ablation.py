import numpy as np
import polars as pl
import pytest

from analysis.trust.ablation import measure_gains
from analysis.trust.features import GROUPS
from analysis.trust.report import render_gains


@pytest.fixture(scope="module")
def gains():
    """Thirty problems of 10 programs; soft MBR alone tells which are right."""
    generator = np.random.default_rng(3)
    frame = pl.DataFrame(
        {"problem_id": np.repeat([f"p{n:02}" for n in range(30)], 10)}
        | {name: None for names in GROUPS.values() for name in names}
    ).with_columns(pl.exclude("problem_id").cast(pl.Float64))
    mbr = generator.normal(size=300)
    rate, right = pl.Series(generator.normal(size=300)), pl.Series(mbr > 0)
    frame = frame.with_columns(mbr=pl.Series(mbr), io_rate=rate, correct=right)
    return {gain.group: gain for gain in measure_gains(frame, seeds=(0,))}


def test_a_feature_that_tells_gains_by_whatever_way_it_is_measured(gains):
    assert gains["soft MBR"].last_at_one.low > 0
    assert gains["soft MBR"].first_at_one.low > 0


def test_a_group_without_values_has_no_gain(gains):
    assert gains["round trip"].last_at_one.value is None


def test_every_group_has_a_line(gains):
    assert len(render_gains(list(gains.values())).splitlines()) == 1 + len(GROUPS)
