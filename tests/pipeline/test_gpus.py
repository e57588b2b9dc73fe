import pytest

from conf import UserError
from pipeline.compose import load_config
from pipeline.gpus import check_gpus, describe_gpus, gpu_plan


def plan(*words):
    return gpu_plan(load_config(["engine=gpu", *words]))


def test_eight_gpus_hold_two_replicas_of_four_shards():
    made = plan("engine.replicas=2", "engine.tensor_parallel_size=4")
    assert made.placement.bundles == [{"CPU": 1, "GPU": 1}, {"GPU": 1}, {"GPU": 1}, {"GPU": 1}]
    assert made.placement.strategy == "STRICT_PACK"
    check_gpus(made, [8])


def test_they_are_described_with_their_bundles():
    text = describe_gpus(plan("engine.replicas=2", "engine.tensor_parallel_size=4"))
    assert text == "8 needed: 2 x STRICT_PACK {CPU: 1, GPU: 1} {GPU: 1} {GPU: 1} {GPU: 1}"


def test_a_third_is_refused_with_the_room_there_is():
    with pytest.raises(UserError, match=r"3 engine .* 4 GPUs each on one node.* room for 2"):
        check_gpus(plan("engine.replicas=3", "engine.tensor_parallel_size=4"), [8])


def test_shards_of_one_replica_do_not_span_nodes_unless_asked():
    words = ("engine.tensor_parallel_size=8",)
    with pytest.raises(UserError, match=r"engine\.across_nodes=true"):
        check_gpus(plan(*words), [4, 4])
    check_gpus(plan(*words, "engine.across_nodes=true"), [4, 4])


def test_replicas_that_share_a_gpu_are_counted_by_the_gpu():
    shared = ("engine.gpus_per_replica=0.3", "engine.gpu_memory_utilization=0.3")
    check_gpus(plan("engine.replicas=6", *shared), [2])
    with pytest.raises(UserError, match="room for 6"):
        check_gpus(plan("engine.replicas=7", *shared), [2])


def test_a_model_that_describes_needs_gpus_of_its_own():
    assert plan("chain.describer=starcoderbase", "chain.describer.replicas=2").needed == 3


def test_without_gpus_nothing_is_checked():
    check_gpus(gpu_plan(load_config([])), [])
    check_gpus(plan("serve=fake"), [])
