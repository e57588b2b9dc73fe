import pytest

from conf import ChainConfig, ClusterConfig, EngineConfig, RunConfig, UserError
from pipeline.compose import load_config
from pipeline.describe import describe
from pipeline.plan import BLOCKS_IN_FLIGHT, make_plan


def test_the_default_run_fits_on_two_cpus():
    plan = make_plan(RunConfig(), chains=8, cpus=2)
    assert plan.sandbox_actors == 1
    assert plan.budget.needed <= 2


def test_every_cpu_that_is_left_over_runs_programs():
    assert make_plan(RunConfig(), chains=8, cpus=16).sandbox_actors == 15


def test_too_few_cpus_are_refused_with_the_sum_and_its_parts():
    with pytest.raises(UserError, match=r"has 1 CPUs .* needs 1\.58: 0\.5 for 1 engine"):
        make_plan(RunConfig(), chains=8, cpus=1)


def test_too_many_replicas_are_refused():
    config = RunConfig(engine=EngineConfig(replicas=4))
    with pytest.raises(UserError, match=r"engine\.cpus_per_replica"):
        make_plan(config, chains=8, cpus=2)


def test_a_full_chain_of_three_steps_is_seven_requests():
    assert make_plan(RunConfig(), chains=8, cpus=2).most_requests == 8 * 7


def test_a_chain_that_starts_from_code_makes_one_request_less():
    config = RunConfig(chain=ChainConfig(start="code"))
    assert make_plan(config, chains=8, cpus=2).most_requests == 8 * 6


def test_a_describers_replicas_need_cpus_and_are_described():
    config = load_config(["chain.describer=starcoderbase", "chain.describer.replicas=2"])
    plan = make_plan(config, chains=8, cpus=4)
    assert plan.budget.replicas == pytest.approx(3 * 0.5)
    assert "2 replica(s) of starcoderbase-1b" in describe(config, plan)


@pytest.mark.parametrize(("chains", "rows"), [(1, 1), (255, 1), (1000, 7), (100_000, 32)])
def test_blocks_grow_with_the_run(chains, rows):
    assert make_plan(RunConfig(), chains=chains, cpus=2).rows_per_block == rows


def test_a_round_holds_as_many_chains_as_large_engines_answer():
    config = RunConfig(engine=EngineConfig(replicas=16, max_num_seqs=256))
    plan = make_plan(config, chains=100_000, cpus=32)
    assert plan.rows_per_block * BLOCKS_IN_FLIGHT == 4 * 16 * 256


def test_a_given_block_size_is_kept():
    config = RunConfig(cluster=ClusterConfig(rows_per_block=5))
    assert make_plan(config, chains=3, cpus=2).rows_per_block == 5


def test_the_description_names_every_stage_and_the_cpus():
    config = RunConfig()
    text = describe(config, make_plan(config, chains=8, cpus=2))
    for word in ("Generate", "Summarize", "Execute", "Stop?", "1.58 needed, 2 available", "56"):
        assert word in text


def test_programs_that_are_sampled_again_are_planned_and_described():
    config = RunConfig(chain=ChainConfig(blame=5))
    plan = make_plan(config, chains=8, cpus=2)
    assert plan.most_requests == 8 * (7 + 5)
    assert "Sample again" in describe(config, plan)
    assert "1.6 needed" in describe(config, plan)
