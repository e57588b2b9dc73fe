import pytest

from pipeline.preview import preview
from serve.embedded import embedded_folder


def shown(*words):
    return "\n".join(preview(["dataset.limit=1", *words]))


def test_without_a_tokenizer_the_turns_are_shown_and_said_to_be_unrendered():
    text = shown("serve=fake")
    assert text.count("[user]\n") == 3
    assert text.count("serve=fake has none") == 3
    assert "HumanEval/0, step 0, generate" in text


def test_a_worked_example_is_shown_for_the_first_problem_that_is_evaluated():
    text = shown("serve=fake", "example=first_humaneval")
    assert "HumanEval/1, step 0" in text
    assert "HumanEval/0," not in text
    assert text.count("[assistant]\n") == 3


def test_a_chain_that_starts_from_code_asks_for_no_first_program():
    assert "step 0" not in shown("serve=fake", "chain.start=code")


def test_from_step_one_on_nothing_names_the_function():
    text = shown("serve=fake")
    assert "has_close_elements" not in text[text.index("step 1") :]


def test_stop_strings_of_prompt_set_and_card_are_shown():
    text = shown("serve=fake", "model=qwen25_coder")
    assert "'<|fim_pad|>'" in text
    assert "'\\ndef '" in text


@pytest.mark.engine
def test_a_prompt_is_rendered_and_counted_by_the_models_own_tokenizer():
    embedded_folder("smollm2_135m")
    text = shown()
    assert "<|im_start|>user\nComplete the Python function `has_close_elements`." in text
    assert "184 tokens of 2048" in text


@pytest.mark.engine
def test_a_mark_that_the_tokenizer_does_not_know_is_pointed_out():
    marks = ("model.fim_prefix='<NO>'", "model.fim_suffix=a", "model.fim_middle=b")
    text = shown("prompt=fim", *marks)
    assert text.count("model.fim_prefix='<NO>' is") == 1
    assert "model.fim_suffix='a' is" not in text
