"""The probe of ``describe`` on real Ray, Ray Serve and sandbox, with the fake engine."""

import pytest
from runs import PROBLEMS, write_problems

from pipeline.cli import main

pytestmark = [pytest.mark.ray, pytest.mark.timeout(300)]


def test_a_probe_says_what_a_run_will_cost_and_leaves_nothing(ray_session, tmp_path, capfd):
    data = write_problems(tmp_path / "data.jsonl")
    runs = tmp_path / "runs"
    words = ["serve=fake", f"dataset.path={data}", f"runs_dir={runs}", "chain.length=1"]
    assert main(["describe", "probe=true", *words]) == 0
    shown = capfd.readouterr().out
    assert f"from {len(PROBLEMS)} chains made as a probe" in shown
    for word in ("requests", "written", "tokens written per second", "time"):
        assert word in shown
    assert not runs.exists()
