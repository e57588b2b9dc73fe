"""What a sweep refuses before it starts anything."""

import pytest

from conf import UserError
from pipeline.sweep.sweep import sweep


def test_a_sweep_at_an_address_is_refused():
    words = ["-m", "serve=fake", "dataset.limit=1", "chain.length=1,2", "runs_dir=s3://evals/runs"]

    with pytest.raises(UserError, match=r"s3://evals/runs: a sweep needs a folder"):
        sweep(words)
