"""One whole run on all the real parts: Ray, Ray Serve, vLLM, the embedded model, the sandbox."""

import polars as pl
import pytest
from runs import PROBLEMS, only_run, table, too_long, write_problems

from pipeline.run import run

pytestmark = [pytest.mark.ray, pytest.mark.engine, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def folder(ray_session, tmp_path_factory):
    scratch = tmp_path_factory.mktemp("real")
    data = write_problems(scratch / "data.jsonl", [*PROBLEMS, too_long()])
    status = run(
        [
            f"dataset.path={data}",
            f"runs_dir={scratch / 'runs'}",
            "chain.length=2",
            "chain.sampling.generate_max_tokens=96",
            "chain.sampling.summarize_max_tokens=48",
        ]
    )
    assert status == 0
    return only_run(scratch / "runs")


def test_every_chain_ends_once(folder):
    chains = table(folder, "chains")
    assert sorted(chains["problem_id"]) == ["toy/double", "toy/increment", "toy/long", "toy/square"]
    assert set(chains["stop_reason"]) & {"engine_error", "harness"} == set()


def test_a_real_tokenizer_finds_the_overlong_prompt(folder):
    reasons = dict(table(folder, "chains").select("problem_id", "stop_reason").iter_rows())
    assert [name for name, reason in reasons.items() if reason == "prompt_too_long"] == ["toy/long"]


def test_every_answer_has_its_tokens_and_its_probability(folder):
    answers = table(folder, "completions").filter(pl.col("error_kind").is_null())
    assert answers.height >= 3
    assert answers["completion_tokens"].min() > 0
    assert answers["logprob"].max() <= 0
    assert set(answers["finish_reason"]) <= {"stop", "length"}


def test_the_prompt_is_kept_as_the_model_saw_it(folder):
    prompts = table(folder, "completions").filter(pl.col("error_kind").is_null())["prompt"]
    assert all(text.startswith("<|im_start|>") for text in prompts)


def test_programs_were_judged_in_isolation(folder):
    steps = table(folder, "steps").filter(pl.col("verdict").is_not_null())
    assert steps.height >= 1
    assert set(steps["isolation"]) <= {"strict", "standard", "standard-nofs"}
