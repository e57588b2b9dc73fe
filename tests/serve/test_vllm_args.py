import dataclasses
import importlib.util
import os
from pathlib import Path

import pytest

from conf import EngineConfig, ModelConfig, UserError
from serve.models import ResolvedModel
from serve.vllm_args import (
    TYPED,
    check_arguments,
    check_sharing,
    engine_arguments,
    node_environment,
    replica_environment,
    usable_cores,
)

LOCAL = ResolvedModel("/models/tiny", None, "0" * 32, "tiny", "folder")
HUB = ResolvedModel("lab/tiny", "abc123", "abc123", "tiny", "hub")


@pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed")
def test_a_wrong_name_is_answered_with_near_ones() -> None:
    with pytest.raises(UserError, match=r"engine\.args\.max_num_batched_token: .*_tokens"):
        check_arguments({"max_num_batched_token": 1024})


def test_an_argument_with_its_own_key_is_sent_there() -> None:
    with pytest.raises(UserError, match=r"set model\.dtype instead"):
        check_arguments({"dtype": "float16"})


def test_further_arguments_reach_the_engine() -> None:
    engine = EngineConfig(args={"max_num_batched_tokens": 1024})
    check_arguments(engine.args)
    arguments = engine_arguments(ModelConfig(), LOCAL, engine)
    assert arguments["max_num_batched_tokens"] == 1024


def test_a_hub_model_is_pinned_to_the_commit_that_was_resolved() -> None:
    arguments = engine_arguments(ModelConfig(path="lab/tiny", revision="main"), HUB, EngineConfig())
    assert (arguments["model"], arguments["revision"]) == ("lab/tiny", "abc123")


def test_shards_are_ray_actors_unless_asked_otherwise() -> None:
    engine = EngineConfig(tensor_parallel_size=2)
    assert engine_arguments(ModelConfig(), LOCAL, engine)["distributed_executor_backend"] == "ray"
    engine.args = {"distributed_executor_backend": "mp"}
    assert engine_arguments(ModelConfig(), LOCAL, engine)["distributed_executor_backend"] == "mp"


@pytest.mark.engine
def test_every_argument_we_set_is_one_of_vllm() -> None:
    from vllm.engine.arg_utils import AsyncEngineArgs

    known = {field.name for field in dataclasses.fields(AsyncEngineArgs)}
    ours = engine_arguments(ModelConfig(), LOCAL, EngineConfig(tensor_parallel_size=2))
    assert set(ours) <= known
    assert set(TYPED) <= known


def test_a_local_model_never_asks_the_hub() -> None:
    assert replica_environment(LOCAL, EngineConfig())["HF_HUB_OFFLINE"] == "1"
    assert "HF_HUB_OFFLINE" not in replica_environment(HUB, EngineConfig())


def test_cpu_settings_stay_away_from_gpus() -> None:
    assert "OMP_WAIT_POLICY" in replica_environment(LOCAL, EngineConfig())
    for engine in (EngineConfig(gpus_per_replica=1), EngineConfig(tensor_parallel_size=2)):
        assert "OMP_WAIT_POLICY" not in replica_environment(LOCAL, engine)
        assert node_environment(engine) == {}


def test_the_users_environment_wins() -> None:
    engine = EngineConfig(cpu_threads=3, env={"OMP_NUM_THREADS": "7", "OMP_WAIT_POLICY": "active"})
    assert replica_environment(LOCAL, engine)["OMP_WAIT_POLICY"] == "active"
    assert node_environment(engine) == {}


def test_threads_are_those_asked_for_or_all_of_the_nodes() -> None:
    assert node_environment(EngineConfig(cpu_threads=3)) == {"OMP_NUM_THREADS": "3"}
    assert node_environment(EngineConfig()) == {"OMP_NUM_THREADS": str(usable_cores())}


@pytest.mark.parametrize(
    ("quota", "cores"), [("max 100000", 8), ("200000 100000", 2), ("20000 100000", 1)]
)
def test_a_containers_quota_bounds_the_cores(
    quota: str, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))
    (tmp_path / "cpu.max").write_text(quota + "\n")
    assert usable_cores(tmp_path / "cpu.max") == cores


def test_replicas_that_share_a_gpu_must_leave_each_other_room() -> None:
    check_sharing(EngineConfig(gpus_per_replica=0.5, gpu_memory_utilization=0.45))
    check_sharing(EngineConfig(gpus_per_replica=0))
    with pytest.raises(UserError, match=r"gpu_memory_utilization may be at most that, got 0\.9"):
        check_sharing(EngineConfig(gpus_per_replica=0.5))


def test_a_cpu_engine_reads_prompts_whole() -> None:
    ours = engine_arguments(ModelConfig(max_model_len=4096), LOCAL, EngineConfig())
    assert (ours["enable_chunked_prefill"], ours["max_num_batched_tokens"]) == (False, 4096)
    assert "enable_chunked_prefill" not in engine_arguments(
        ModelConfig(), LOCAL, EngineConfig(gpus_per_replica=1)
    )
