import ast
import asyncio

import pytest

from conf import ModelConfig, ServeConfig
from serve.engine import EngineUnavailable
from serve.fake_engine import SENTENCES, FakeEngine
from serve.messages import Answer, Completion, Failure, Message, Prompt, Sampling

SAMPLING = Sampling(max_tokens=100)
WRITE = 'Complete it:\n\ndef triple(x, *, base=3):\n    """Return three times x."""\n'
DESCRIBE = "Describe it:\n\ndef triple(x):\n    y = 3 * x\n    return y\n"


def engine(max_model_len: int = 100, **serve: float) -> FakeEngine:
    return FakeEngine(
        ModelConfig(max_model_len=max_model_len),
        ServeConfig(backend="fake", **serve),  # type: ignore[arg-type]  # numbers of any kind
    )


async def ask(text: str, sampling: Sampling = SAMPLING) -> Answer:
    return await engine().generate("r", Prompt(text=text), sampling)


async def completion(text: str, sampling: Sampling = SAMPLING) -> Completion:
    answer = await ask(text, sampling)
    assert isinstance(answer, Completion)
    return answer


async def test_the_same_request_has_the_same_answer_in_another_engine() -> None:
    assert await ask(WRITE) == await ask(WRITE)


async def test_different_prompts_have_different_answers() -> None:
    answers = {(await completion(WRITE + f"# {n}")).text for n in range(40)}
    assert len(answers) > 3


async def test_sampling_parameters_change_the_answer() -> None:
    answers = {
        (await completion(WRITE, Sampling(100, temperature=1.0, seed=n))).text for n in range(40)
    }
    assert len(answers) > 3


async def test_a_header_is_answered_by_a_fenced_program_of_that_name_and_signature() -> None:
    fence, *body, end = (await completion(WRITE)).text.splitlines()
    assert (fence, end) == ("```python", "```")
    (function,) = ast.parse("\n".join(body)).body
    assert isinstance(function, ast.FunctionDef)
    assert function.name == "triple"
    assert ast.unparse(function.args) == "x, *, base=3"


async def test_a_whole_program_is_answered_by_a_sentence() -> None:
    assert (await completion(DESCRIBE)).text in SENTENCES


async def test_a_conversation_is_read_from_its_last_message() -> None:
    prompt = Prompt(messages=(Message("system", "You write code."), Message("user", WRITE)))
    answer = await engine().generate("r", prompt, SAMPLING)
    assert isinstance(answer, Completion)
    assert "def triple" in answer.text
    assert answer.rendered_prompt.endswith("<assistant>\n")


async def test_an_answer_that_was_cut_says_so() -> None:
    answer = await completion(WRITE, Sampling(max_tokens=2))
    assert (answer.completion_tokens, answer.finish_reason) == (2, "length")


async def test_an_answer_ends_at_a_stop_string() -> None:
    answer = await completion(WRITE, Sampling(max_tokens=100, stop=("triple",)))
    assert answer.text == "```python\ndef "


async def test_a_prompt_that_fills_the_context_is_refused() -> None:
    answer = await engine(max_model_len=16).generate("r", Prompt(text="word " * 16), SAMPLING)
    assert isinstance(answer, Failure)
    assert answer.kind == "prompt_too_long"


async def test_an_answer_may_only_fill_what_the_prompt_left() -> None:
    answer = await engine(max_model_len=16).generate("r", Prompt(text="word " * 13), SAMPLING)
    assert isinstance(answer, Completion)
    assert answer.completion_tokens == 3


async def test_a_marked_prompt_fails_as_often_as_asked() -> None:
    one, prompt = engine(), Prompt(text="FAKE:fail=2 hello")
    for _ in range(2):
        with pytest.raises(EngineUnavailable):
            await one.generate("r", prompt, SAMPLING)
    assert isinstance(await one.generate("r", prompt, SAMPLING), Completion)


async def test_no_more_requests_run_than_the_batch_takes() -> None:
    one = engine(fake_batch_limit=2)
    slow = Prompt(text="FAKE:slow=3600 hello")
    stuck = [asyncio.create_task(one.generate("r", slow, SAMPLING)) for _ in range(2)]
    await asyncio.sleep(0)
    waiting = asyncio.create_task(one.generate("r", Prompt(text="hello"), SAMPLING))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not waiting.done()
    stuck[0].cancel()
    assert isinstance(await waiting, Completion)
    stuck[1].cancel()
    await asyncio.gather(*stuck, return_exceptions=True)
