"""The two questions of the chain job, as data: texts from ``conf/prompt/`` around a program."""

import re
from dataclasses import dataclass

from conf import PromptConfig
from serve.messages import Message, Prompt

_SLOT = re.compile(r"\{(code|name)\}")


@dataclass(frozen=True)
class PromptBook:
    """Builds the requests of one prompt set.

    Templates may hold ``{code}`` and ``{name}``, the function's name. No other brace means
    anything, neither in a template nor in the text that a model wrote. Chat messages take the
    code without empty lines around it; raw text takes it as it is, because a base model goes on
    from its very last character.
    """

    config: PromptConfig

    def generate(self, header: str, entry_point: str) -> Prompt:
        """Ask for a program.

        Args:
            header: imports and helpers, the signature, and the description as its docstring.
            entry_point: what the function is called in the header.
        """
        config = self.config
        return self._prompt(config.generate_system, config.generate_user, header, entry_point)

    def summarize(self, code: str, entry_point: str) -> Prompt:
        """Ask for a description of a program.

        Args:
            code: the program.
            entry_point: what the function to describe is called in it.
        """
        config = self.config
        return self._prompt(config.summarize_system, config.summarize_user, code, entry_point)

    def _prompt(self, system: str, user: str, code: str, name: str) -> Prompt:
        if self.config.style == "completion":
            return Prompt(text=_fill(user, code, name))
        turns = [("system", system), ("user", user)]
        shown = code.strip("\n")
        return Prompt(
            messages=tuple(Message(role, _fill(text, shown, name)) for role, text in turns if text)
        )


def _fill(template: str, code: str, name: str) -> str:
    texts = {"code": code, "name": name}
    # One pass over the template: a slot's name inside the code is text like any other.
    return _SLOT.sub(lambda slot: texts[slot[1]], template)
