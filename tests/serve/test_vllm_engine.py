import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from jinja2 import TemplateError

from conf import RunConfig, UserError
from serve import (
    Answer,
    Completion,
    EngineClient,
    EngineHandle,
    Failure,
    Message,
    Prompt,
    Sampling,
    start_engine,
    stop_engine,
)
from serve.embedded import embedded_folder
from serve.vllm_engine import VllmEngine

pytestmark = [
    pytest.mark.engine,
    pytest.mark.ray,
    pytest.mark.timeout(600),
    pytest.mark.usefixtures("one_thread"),
]

MAX_MODEL_LEN = 256
SHORT = Sampling(max_tokens=12)
QUESTIONS = [
    f'Complete this function:\n\ndef {name}:\n    """{text}"""\n'
    for name, text in [
        ("add(a, b)", "Return the sum."),
        ("longest(words)", "Return the longest word."),
        ("is_prime(n)", "Return whether n is prime."),
        ("reverse(text)", "Return the text backwards."),
        ("mean(values)", "Return the arithmetic mean."),
    ]
]


def real_config() -> RunConfig:
    config = RunConfig()
    config.model.max_model_len = MAX_MODEL_LEN
    return config


@pytest.fixture(scope="module")
def engine(ray_session: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineHandle]:
    handle = start_engine(real_config(), tmp_path_factory.mktemp("logs"))
    yield handle
    stop_engine(handle)


def chat(text: str) -> Prompt:
    return Prompt(messages=(Message("user", text),))


async def ask(handle: EngineHandle, prompt: Prompt, sampling: Sampling = SHORT) -> Answer:
    return await EngineClient.open(handle.spec).generate("r", prompt, sampling)


async def complete(handle: EngineHandle, prompt: Prompt, sampling: Sampling = SHORT) -> Completion:
    answer = await ask(handle, prompt, sampling)
    assert isinstance(answer, Completion)
    return answer


async def test_a_conversation_is_rendered_by_the_models_own_template(engine: EngineHandle) -> None:
    answer = await complete(engine, chat("Say hello."))
    assert answer.rendered_prompt.startswith("<|im_start|>system\nYou are a helpful AI assistant")
    assert answer.rendered_prompt.endswith(
        "<|im_start|>user\nSay hello.<|im_end|>\n<|im_start|>assistant\n"
    )


async def test_an_answer_that_was_cut_has_the_length_that_was_asked_for(
    engine: EngineHandle,
) -> None:
    answer = await complete(engine, chat(QUESTIONS[0]))
    assert (answer.completion_tokens, answer.finish_reason) == (12, "length")


async def test_an_answer_ends_before_a_stop_string(engine: EngineHandle) -> None:
    whole = await complete(engine, Prompt(text="def add(a, b):\n"))
    first, line_end, _ = whole.text.partition("\n")
    assert line_end
    cut = await complete(
        engine, Prompt(text="def add(a, b):\n"), Sampling(max_tokens=12, stop=("\n",))
    )
    assert (cut.text, cut.finish_reason) == (first, "stop")


async def test_tokens_and_log_probability_agree_with_transformers(engine: EngineHandle) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    answer = await complete(engine, chat(QUESTIONS[1]))
    tokenizer = AutoTokenizer.from_pretrained(engine.model.path)
    model = AutoModelForCausalLM.from_pretrained(engine.model.path, dtype=torch.float32)
    whole = tokenizer(answer.rendered_prompt + answer.text, add_special_tokens=False)["input_ids"]
    assert len(whole) == answer.prompt_tokens + answer.completion_tokens
    with torch.no_grad():
        logits = model(torch.tensor([whole])).logits[0]
    chances = logits.log_softmax(-1)[answer.prompt_tokens - 1 : -1]
    sampled = torch.tensor(whole[answer.prompt_tokens :])
    assert chances.argmax(-1).tolist() == sampled.tolist()
    total = chances.gather(1, sampled[:, None]).sum().item()
    assert answer.logprob == pytest.approx(total, abs=1e-3)


async def test_greedy_answers_alone_are_those_given_together(engine: EngineHandle) -> None:
    alone = [(await complete(engine, chat(question))).text for question in QUESTIONS]
    together = await asyncio.gather(*[complete(engine, chat(question)) for question in QUESTIONS])
    assert [answer.text for answer in together] == alone


async def test_a_seed_repeats_a_sample_and_another_seed_does_not(engine: EngineHandle) -> None:
    seeds = [1, 1, 2]
    samples = [
        (await complete(engine, chat(QUESTIONS[2]), Sampling(12, temperature=1.5, seed=seed))).text
        for seed in seeds
    ]
    assert samples[0] == samples[1] != samples[2]


async def test_a_prompt_longer_than_the_context_is_refused_with_its_text(
    engine: EngineHandle,
) -> None:
    text = "word " * MAX_MODEL_LEN
    answer = await ask(engine, Prompt(text=text))
    assert isinstance(answer, Failure)
    assert (answer.kind, answer.rendered_prompt, answer.attempts) == ("prompt_too_long", text, 1)


async def test_an_answer_may_fill_what_the_prompt_left(engine: EngineHandle) -> None:
    short = await complete(engine, Prompt(text="one two"), Sampling(max_tokens=1))
    words = "one two" + " two" * (MAX_MODEL_LEN - short.prompt_tokens - 3)
    answer = await complete(engine, Prompt(text=words), Sampling(max_tokens=50))
    assert answer.prompt_tokens + answer.completion_tokens == MAX_MODEL_LEN


async def test_more_requests_than_the_batch_holds_are_all_answered(engine: EngineHandle) -> None:
    wanted = 70
    client = EngineClient.open(replace(engine.spec, max_in_flight=wanted))
    answers = await asyncio.gather(
        *[
            client.generate(str(number), Prompt(text=f"{number} + 1 ="), Sampling(max_tokens=2))
            for number in range(wanted)
        ]
    )
    assert {answer.rendered_prompt for answer in answers} == {f"{n} + 1 =" for n in range(wanted)}
    assert all(isinstance(answer, Completion) for answer in answers)


async def test_a_request_that_timed_out_is_given_up_and_the_engine_goes_on(
    engine: EngineHandle,
) -> None:
    hasty = replace(engine.spec, request_timeout_s=0.05, attempts=1)
    late = await EngineClient.open(hasty).generate("r", chat(QUESTIONS[0]), Sampling(180))
    assert isinstance(late, Failure)
    assert isinstance(await ask(engine, chat("Say hello.")), Completion)


async def test_a_conversation_that_the_template_refuses_is_an_error_value() -> None:
    class Refusing:
        def apply_chat_template(self, *turns: object, **options: object) -> str:
            raise TemplateError("System role not supported")

    engine = VllmEngine.__new__(VllmEngine)
    engine._tokenizer = Refusing()
    engine._chat_template = None
    answer = await engine.generate("r", chat("Say hello."), SHORT)
    assert isinstance(answer, Failure)
    assert "System role not supported" in answer.message


def test_the_replica_says_what_runs_on_what(engine: EngineHandle) -> None:
    assert engine.facts["dtype"] == "float32"
    assert engine.facts["max_model_len"] == MAX_MODEL_LEN
    assert str(engine.facts["vllm"]).startswith("vllm")


def test_a_model_that_does_not_load_is_told_with_the_root_cause(
    ray_session: None, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    model.mkdir()
    for path in embedded_folder("smollm2_135m").iterdir():
        (model / path.name).symlink_to(path)
    settings = json.loads((model / "config.json").read_text())
    (model / "config.json").unlink()
    (model / "config.json").write_text(json.dumps(settings | {"num_hidden_layers": 31}))
    config = real_config()
    config.model.path = str(model)
    with pytest.raises(UserError, match=r"did not start: .* <- .*model\.layers\.30"):
        start_engine(config, tmp_path)


def test_seeded_requests_that_do_not_fit_in_one_step_are_all_answered(engine: EngineHandle) -> None:
    long = chat("\n".join(QUESTIONS))
    prompts = [(long, Sampling(max_tokens=2, temperature=0.8, seed=n)) for n in range(24)]

    async def ask_all() -> list[Answer]:
        return await asyncio.gather(*(ask(engine, *prompt) for prompt in prompts))

    assert all(isinstance(answer, Completion) for answer in asyncio.run(ask_all()))
