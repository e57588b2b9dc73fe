from typing import Any

import pytest

from conf import RunConfig
from serve.deployment import app_name, deployment_options, replicas_words
from serve.models import ResolvedModel

MODEL = ResolvedModel("/models/tiny", None, "0" * 32, "tiny", "folder")


def config(**engine: Any) -> RunConfig:
    made = RunConfig()
    for key, value in engine.items():
        setattr(made.engine, key, value)
    return made


def test_a_replica_takes_its_next_batch_in_advance() -> None:
    options = deployment_options(config(max_num_seqs=32, replicas=3), MODEL)
    assert options["num_replicas"] == 3
    assert options["max_ongoing_requests"] > 2 * 32
    assert options["max_queued_requests"] == -1


def test_a_gpu_can_be_shared() -> None:
    options = deployment_options(config(gpus_per_replica=0.25, cpus_per_replica=2), MODEL)
    actor = options["ray_actor_options"]
    assert (actor["num_gpus"], actor["num_cpus"]) == (0.25, 2)
    assert "placement_group_bundles" not in options


def test_shards_get_one_gpu_each_and_the_replica_none() -> None:
    options = deployment_options(config(tensor_parallel_size=3, gpus_per_replica=1), MODEL)
    assert options["placement_group_bundles"] == [{"CPU": 0.5, "GPU": 1}, {"GPU": 1}, {"GPU": 1}]
    assert options["ray_actor_options"]["num_gpus"] == 0
    assert options["placement_group_strategy"] == "STRICT_PACK"


def test_shards_may_lie_on_several_nodes_if_asked() -> None:
    made = config(tensor_parallel_size=16, gpus_per_replica=1, across_nodes=True)
    assert deployment_options(made, MODEL)["placement_group_strategy"] == "PACK"


def test_the_fake_backend_never_asks_for_a_gpu() -> None:
    made = config(tensor_parallel_size=2, gpus_per_replica=1)
    made.serve.backend = "fake"
    options = deployment_options(made, MODEL)
    assert options["ray_actor_options"]["num_gpus"] == 0
    assert "placement_group_bundles" not in options


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("model", "dtype", "float16"),
        ("model", "max_model_len", 99),
        ("engine", "max_num_seqs", 99),
        ("engine", "args", {"block_size": 64}),
        ("serve", "backend", "fake"),
    ],
)
def test_another_engine_has_another_name(section: str, key: str, value: object) -> None:
    made = config()
    setattr(getattr(made, section), key, value)
    assert app_name(made, MODEL) != app_name(config(), MODEL)


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [("serve", "max_in_flight", 9), ("model", "name", "nick"), ("chain", "length", 9)],
)
def test_what_the_engine_does_not_see_does_not_change_its_name(
    section: str, key: str, value: object
) -> None:
    made = config()
    setattr(getattr(made, section), key, value)
    assert app_name(made, MODEL) == app_name(config(), MODEL)


def test_a_replicas_own_words_are_found_below_the_remote_traceback() -> None:
    message = (
        "Deploying app 'x'.\n"
        "A replica failed to start with exception. Retrying 2 more time(s). Error:\n"
        "Traceback (most recent call last):\n"
        '  File "replica.py", line 33, in __init__\n'
        "serve.replica.EngineStartError: the weights are missing\n"
    )
    words = replicas_words(message)
    assert (words.failed, words.reason) == (True, "the weights are missing")


def test_without_such_words_the_last_line_is_the_reason() -> None:
    words = replicas_words("Deploying.\nResources required: 64 CPU\n\n")
    assert (words.failed, words.reason) == (False, "Resources required: 64 CPU")
