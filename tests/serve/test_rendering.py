from pathlib import Path

import pytest
from tiny_models import MARKS, make_model

from serve.messages import Message, Prompt
from serve.rendering import render, split_stops

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory: pytest.TempPathFactory):
    from transformers import AutoTokenizer

    root: Path = tmp_path_factory.mktemp("models")
    return {
        kind: AutoTokenizer.from_pretrained(make_model(root / kind, chat=kind == "chat"))
        for kind in ("chat", "base")
    }


def test_raw_text_gets_the_tokenizers_own_start_and_its_marks_are_single_tokens(tokenizers):
    text, tokens = render(tokenizers["base"], Prompt(text="".join(MARKS)))
    assert text == "".join(MARKS)
    assert tokenizers["base"].convert_ids_to_tokens(tokens) == ["<s>", *MARKS]


def test_a_conversation_gets_what_its_template_says_and_no_more(tokenizers):
    prompt = Prompt(messages=(Message("user", "n"),))
    text, tokens = render(tokenizers["chat"], prompt)
    assert text == "<|user|>n<|end|><|assistant|>"
    names = tokenizers["chat"].convert_ids_to_tokens(tokens)
    assert names == ["<|user|>", "n", "<|end|>", "<|assistant|>"]


def test_a_template_of_the_card_is_used_in_place_of_the_tokenizers(tokenizers):
    prompt = Prompt(messages=(Message("user", "n"),))
    text, _ = render(tokenizers["base"], prompt, "{{ messages[0].content }}!")
    assert text == "n!"


def test_a_stop_that_is_a_token_of_its_own_stops_by_its_number(tokenizers):
    texts, numbers = split_stops(tokenizers["chat"], ["\ndef ", "<|end|>"])
    assert texts == ["\ndef "]
    assert tokenizers["chat"].convert_ids_to_tokens(numbers) == ["<|end|>"]
