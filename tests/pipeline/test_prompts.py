from pathlib import Path

import pytest
from omegaconf import OmegaConf

import conf
from conf import ExampleConfig, ModelConfig, PromptConfig, UserError
from pipeline.compose import load_config
from pipeline.prompts import PromptBook
from pipeline.roles import GENERATE, answer_proper, make_book, make_sampling

CONF = Path(conf.__file__).parent
PROMPT_SETS = sorted((CONF / "prompt").glob("*.yaml"))
CARDS = sorted(path.stem for path in (CONF / "model").glob("*.yaml"))
EXAMPLE = ExampleConfig(
    name="one",
    header='def one(x):\n    """One."""\n',
    program="def one(x):\n    return 1\n",
    description="Return one.\nAlways.",
    calls=">>> one(3)\n1",
)
GAP = ModelConfig(fim_prefix="<P>", fim_suffix="<S>", fim_middle="<M>")


def shipped(name: str) -> PromptConfig:
    return load_config([f"prompt={name}", *(f"model.fim_{part}=x" for part in PARTS)]).prompt


PARTS = ("prefix", "suffix", "middle")


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


def test_every_style_is_shipped():
    assert [path.stem for path in PROMPT_SETS] == ["chat", "completion", "fim", "mixed"]


def test_chat_drops_empty_lines_around_the_code_and_completion_keeps_them():
    assert chat().generate("\n  x\n\n", "f").messages[-1].content == "  x"
    raw = PromptBook(PromptConfig(style="completion"))
    assert raw.generate("\n  x\n\n", "f").text == "\n  x\n\n"


def test_the_gap_to_fill_is_the_docstring():
    book = PromptBook(shipped("fim"), GAP)
    prompt = book.summarize("import math\n\n\ndef func(a):\n    return a\n", "func")
    assert prompt.text == ('<P>import math\n\n\ndef func(a):\n    """<S>"""\n    return a\n<M>')


def test_a_worked_example_comes_before_the_question_as_a_turn_of_its_own():
    book = PromptBook(shipped("chat"), example=EXAMPLE)
    system, first, answer, last = book.summarize("def func(a): ...", "func").messages
    assert [turn.role for turn in (system, first, answer, last)] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    assert EXAMPLE.program.strip() in first.content
    assert answer.content == EXAMPLE.description
    assert "def func(a): ..." in last.content


def test_a_worked_example_of_raw_text_is_source_that_goes_on_with_the_question():
    book = PromptBook(shipped("fim"), GAP, EXAMPLE)
    assert book.generate('def f():\n    """F."""\n', "f").text == (
        'def one(x):\n    """One."""\n    return 1\n\n\ndef f():\n    """F."""\n'
    )
    assert book.summarize("def f():\n    return 2\n", "f").text == (
        '<P>def one(x):\n    """<S>"""\n    return 1\n<M>Return one.\n    Always.\n\n\n'
        '<P>def f():\n    """<S>"""\n    return 2\n<M>'
    )


def test_example_calls_are_asked_for_and_shown_only_when_wanted():
    config = shipped("chat")
    config.examples = "with"
    _, first, answer, last = PromptBook(config, example=EXAMPLE).summarize("X", "f").messages
    assert answer.content == "Return one.\nAlways.\n\n>>> one(3)\n1"
    assert all(config.examples_text in turn.content for turn in (first, last))
    assert config.examples_text not in chat().summarize("X", "f").messages[-1].content


def test_a_template_without_a_system_role_gets_it_in_the_first_question():
    config = PromptConfig(style="chat", summarize_system="Be brief.")
    book = PromptBook(config, ModelConfig(system_role=False))
    (only,) = book.summarize("X", "f").messages
    assert (only.role, only.content) == ("user", "Be brief.\n\nX")


@pytest.mark.parametrize("card", CARDS)
def test_every_card_brings_a_prompt_set_that_it_can_fill(card: str):
    config = load_config([f"model={card}", "model.path=somewhere"])
    assert config.prompt.name == config.model.prompt
    for role in ("generate", "summarize"):
        book = make_book(config, role)
        ask = getattr(book, role)
        prompt = ask("def f(x):\n    return x\n", "f")
        shown = prompt.text if prompt.text is not None else prompt.messages[-1].content
        assert "{" not in shown


def test_the_command_line_wins_over_the_card():
    assert load_config(["model=starcoderbase", "prompt=completion"]).prompt.name == "completion"


def test_filling_in_the_middle_needs_the_models_tokens():
    with pytest.raises(UserError, match="fim_prefix"):
        load_config(["model=hf", "model.path=x", "prompt=fim"])


def test_a_describer_has_its_own_card_prompts_and_stops():
    config = load_config(
        ["model=codellama", "chain.describer=starchat_beta", "chain.describer.model.path=here"]
    )
    assert (config.prompt.name, make_book(config, "summarize").config.name) == ("fim", "chat")
    assert make_book(config, "summarize").model.path == "here"
    assert make_sampling(config, "summarize").stop == ("<|end|>",)
    assert "<|end|>" not in make_sampling(config, "generate").stop


def test_a_describers_prompt_set_can_be_chosen():
    config = load_config(["chain.describer=starcoderbase", "chain.describer.prompt=completion"])
    assert make_book(config, "summarize").config.name == "completion"


def test_a_describer_is_chosen_before_its_values():
    with pytest.raises(UserError, match=r"chain\.describer=CARD"):
        load_config(["chain.describer.model.path=x"])


def test_the_answer_begins_after_the_mark_that_the_card_names():
    card = load_config(["model=gpt_oss"]).model
    assert answer_proper("analysisWe need final words.assistantfinal```x```", card) == "```x```"
    assert answer_proper("finalHere", card) == "Here"
    assert answer_proper("analysisWe need", card) == ""


def test_specs_can_be_asked_for_in_another_style_than_programs():
    config = load_config(["prompt=mixed"])
    book = make_book(config, GENERATE)
    header = 'def f(x):\n    """Twice x."""\n'
    asked = book.specs("relation", header, "f")
    assert asked.text is not None
    assert asked.text.startswith(header)
    assert book.generate(header, "f").messages
