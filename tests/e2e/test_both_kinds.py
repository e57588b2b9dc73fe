"""A chat model that writes and a base model that describes, both made here and served by vLLM."""

import json

import polars as pl
import pytest
from runs import PROBLEMS, only_run, table, write_problems
from tiny_models import MARKS, make_model

from pipeline.preview import preview
from pipeline.run import run

pytestmark = [pytest.mark.ray, pytest.mark.engine, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def made(ray_session, tmp_path_factory):
    """The words of a run and the folder that it left."""
    scratch = tmp_path_factory.mktemp("kinds")
    data = write_problems(scratch / "data.jsonl", PROBLEMS[:2])
    words = [
        "model=hf",
        f"model.path={make_model(scratch / 'chat', chat=True)}",
        "chain.describer=hf_base",
        f"chain.describer.model.path={make_model(scratch / 'base', chat=False)}",
        "model.max_model_len=1024",
        "chain.describer.model.max_model_len=1024",
        "example=clamp",
        "chain.start=code",
        "chain.length=1",
        "chain.sampling.generate_max_tokens=8",
        "chain.sampling.summarize_max_tokens=8",
        "engine.cpus_per_replica=0.25",
        f"dataset.path={data}",
        f"runs_dir={scratch / 'runs'}",
    ]
    assert run(words) == 0
    return words, only_run(scratch / "runs")


def asked(folder, role):
    answers = table(folder, "completions").filter(pl.col("role") == role)
    assert answers["error_message"].drop_nulls().to_list() == []
    assert answers.height == 2
    return answers


def test_the_base_model_fills_the_gap_where_the_docstring_goes(made):
    for prompt in asked(made[1], "summarize")["prompt"]:
        example, question = prompt.split(MARKS[0])[1:]
        assert '"""' + MARKS[1] + '"""' in question
        assert question.endswith(MARKS[2])
        assert "clamp_all" in example


def test_what_was_announced_is_what_was_sent(made):
    words, folder = made
    announced = "\n".join(preview(words))
    for prompt, tokens in asked(folder, "summarize").select("prompt", "prompt_tokens").iter_rows():
        assert f"{prompt}\n" in announced
        assert f"{tokens} tokens of 1024" in announced


def test_the_chat_model_writes_from_its_own_template(made):
    steps = table(made[1], "steps").filter(pl.col("generation_request").is_not_null())
    answers = table(made[1], "completions").filter(pl.col("role") == "generate")
    assert answers.height == steps.height >= 1
    assert all(text.startswith("<|user|>") for text in answers["prompt"])
    assert all(text.endswith("<|assistant|>") for text in answers["prompt"])


def test_both_models_are_in_the_manifest_and_told_apart(made):
    manifest = json.loads((made[1] / "manifest.json").read_text())
    models = {"generate": manifest["model"], "summarize": manifest["describer"]}
    for row in table(made[1], "completions").iter_rows(named=True):
        assert row["model"] == models[row["role"]]["identity"]
    assert manifest["determinism"]["batch_probe"]["prompts"] == 4
    assert manifest["determinism"]["engine_batch_invariant"] in (True, False)
