"""The run that nothing happens to."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from strikes import Place

from pipeline.run import run


@pytest.fixture(scope="session")
def undisturbed(ray_session, tmp_path_factory) -> Path:
    place = Place(tmp_path_factory.mktemp("undisturbed"))
    assert run(place.words("serve.fake_tokens_per_s=0")) == 0
    return place.run


@pytest.fixture
def place(ray_session, tmp_path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def address(ray_session) -> Iterator[str]:
    """The tests' cluster, for drivers that are killed: the engine that they leave is stopped."""
    import ray
    from ray import serve as ray_serve

    yield ray.get_runtime_context().gcs_address
    for app in ray_serve.status().applications:
        ray_serve.delete(app)
