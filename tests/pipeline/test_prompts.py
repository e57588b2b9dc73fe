from pathlib import Path

import pytest
from omegaconf import OmegaConf

import conf
from conf import PromptConfig
from pipeline.prompts import PromptBook

PROMPT_SETS = sorted((Path(conf.__file__).parent / "prompt").glob("*.yaml"))


def chat(**texts: str) -> PromptBook:
    return PromptBook(PromptConfig(style="chat", **texts))


def test_chat_puts_the_code_into_the_user_turn():
    prompt = chat(generate_system="Be brief.", generate_user="Do:\n{code}\n!").generate("X", "f")
    assert [(m.role, m.content) for m in prompt.messages] == [
        ("system", "Be brief."),
        ("user", "Do:\nX\n!"),
    ]


def test_no_system_turn_when_its_text_is_empty():
    assert [m.role for m in chat().summarize("X", "f").messages] == ["user"]


def test_braces_of_template_and_code_are_plain_text():
    prompt = chat(generate_user="{} {0} {x!r} {code}").generate("d = {1: {name}} {code}", "f")
    assert prompt.messages[-1].content == "{} {0} {x!r} d = {1: {name}} {code}"


def test_backslashes_of_the_code_survive():
    assert chat().generate(r"'\1 \n \g<0>'", "f").messages[-1].content == r"'\1 \n \g<0>'"


def test_name_slot_is_filled():
    assert chat(summarize_user="{name}: {code}").summarize("X", "g").messages[-1].content == "g: X"


def test_completion_style_sends_raw_text():
    book = PromptBook(PromptConfig(style="completion", generate_user="# Python\n{code}"))
    prompt = book.generate("def f():", "f")
    assert prompt.text == "# Python\ndef f():"
    assert prompt.messages == ()


@pytest.mark.parametrize("path", PROMPT_SETS, ids=lambda path: path.stem)
def test_shipped_prompt_sets_show_the_code_for_both_questions(path: Path):
    texts = OmegaConf.to_object(
        OmegaConf.merge(OmegaConf.structured(PromptConfig), OmegaConf.load(path))
    )
    assert isinstance(texts, PromptConfig)
    book = PromptBook(texts)
    for prompt in (book.generate("THE CODE", "f"), book.summarize("THE CODE", "f")):
        shown = prompt.text if prompt.text is not None else prompt.messages[-1].content
        assert "THE CODE" in shown


def test_both_styles_are_shipped():
    assert [path.stem for path in PROMPT_SETS] == ["chat", "completion"]


def test_chat_drops_empty_lines_around_the_code_and_completion_keeps_them():
    assert chat().generate("\n  x\n\n", "f").messages[-1].content == "  x"
    raw = PromptBook(PromptConfig(style="completion"))
    assert raw.generate("\n  x\n\n", "f").text == "\n  x\n\n"
