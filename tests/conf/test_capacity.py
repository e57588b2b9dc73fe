import pytest

from conf import EngineConfig, RunConfig, ServeConfig, batch_size, most_in_flight


@pytest.fixture
def config():
    return RunConfig(engine=EngineConfig(replicas=3, max_num_seqs=50))


def test_all_replicas_count(config):
    assert batch_size(config) == 150


def test_a_simulated_engine_has_a_limit_of_its_own(config):
    config.serve = ServeConfig(backend="fake", fake_batch_limit=7)
    assert batch_size(config) == 21


def test_a_caller_keeps_batches_full_unless_it_is_told_otherwise(config):
    assert most_in_flight(config) == 600
    config.serve = ServeConfig(max_in_flight=9)
    assert most_in_flight(config) == 9
