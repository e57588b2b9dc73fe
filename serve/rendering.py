"""What an engine reads of a prompt: the exact text and its tokens. Needs a tokenizer, no engine."""

from collections.abc import Iterable
from typing import Any

from serve.messages import Prompt


def render(
    tokenizer: Any, prompt: Prompt, chat_template: str | None = None
) -> tuple[str, list[int]]:
    """Return the exact text and its tokens.

    A rendered conversation already holds its special tokens; raw text gets those that the
    tokenizer adds by itself, such as a beginning-of-sequence token.

    Args:
        tokenizer: of ``transformers``.
        prompt: a conversation or raw text.
        chat_template: in Jinja; null takes the tokenizer's own.

    Raises:
        jinja2.TemplateError: the template refuses the conversation.
    """
    if prompt.text is not None:
        return prompt.text, list(tokenizer.encode(prompt.text))
    turns = [{"role": turn.role, "content": turn.content} for turn in prompt.messages]
    text: str = tokenizer.apply_chat_template(
        turns, tokenize=False, add_generation_prompt=True, chat_template=chat_template
    )
    return text, list(tokenizer.encode(text, add_special_tokens=False))


def split_stops(tokenizer: Any, stops: Iterable[str]) -> tuple[list[str], list[int]]:
    """Return the stops to look for in the text, and those that are tokens of their own.

    An engine leaves special tokens out of the text it returns, so they stop by their number.
    """
    added = tokenizer.get_added_vocab()
    texts = [stop for stop in stops if stop not in added]
    return texts, [added[stop] for stop in stops if stop in added]
