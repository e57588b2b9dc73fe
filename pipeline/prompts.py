"""The two questions of the chain job, as data: texts from ``conf/prompt/`` around a program."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from conf import ExampleConfig, ModelConfig, PromptConfig
from pipeline.descriptions import split_function
from serve.messages import Message, Prompt

_SLOT = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True)
class PromptBook:
    """Builds the requests of one prompt set for one model, with a worked example or without.

    What the slots of a template stand for is said in ``PromptConfig``. No other brace means
    anything, neither in a template nor in the text that a model wrote. Chat messages take the
    code without empty lines around it; raw text takes it as it is, because a base model goes on
    from its very last character.
    """

    config: PromptConfig
    model: ModelConfig = field(default_factory=ModelConfig)
    example: ExampleConfig = field(default_factory=ExampleConfig)

    def generate(self, header: str, entry_point: str) -> Prompt:
        """Ask for a program.

        Args:
            header: imports and helpers, the signature, and the description as its docstring.
            entry_point: what the function is called in the header.
        """
        config = self.config
        turns = [(config.generate_user, header, entry_point)]
        if self.example.program:
            shown = self.example.header
            turns = [*self._shot(config.generate_user, shown, config.generate_answer), *turns]
        return self._prompt(config.generate_system, turns)

    def summarize(self, code: str, entry_point: str) -> Prompt:
        """Ask for a description of a program.

        Args:
            code: the program.
            entry_point: what the function to describe is called in it.
        """
        config = self.config
        turns = [(config.summarize_user, code, entry_point)]
        if self.example.program:
            shown = self.example.program
            turns = [*self._shot(config.summarize_user, shown, config.summarize_answer), *turns]
        return self._prompt(config.summarize_system, turns)

    def specs(self, kind: str, header: str, entry_point: str) -> Prompt:
        """Ask for specs of a function, or for calls of it, without showing a program.

        Args:
            kind: ``assert``, ``relation`` or ``input``.
            header: imports and helpers, the signature, and the description as its docstring.
            entry_point: what the function is called in the header.
        """
        config = self.config
        if config.spec_style and config.spec_style != config.style:
            asking = replace(config, style=config.spec_style)
            return replace(self, config=asking).specs(kind, header, entry_point)
        question = getattr(config, f"{kind}_user")
        return self._prompt(getattr(config, f"{kind}_system"), [(question, header, entry_point)])

    def begun(self, kind: str, entry_point: str) -> str:
        """Return the text with which the answer to such a request begins in the request itself."""
        return self._fill(getattr(self.config, f"{kind}_begun"), "", entry_point)

    def _shot(self, question: str, shown: str, answer: str) -> list[tuple[str, str, str]]:
        name = self.example.name
        return [(question, shown, name), (answer, self.example.program, name)]

    def _prompt(self, system: str, turns: list[tuple[str, str, str]]) -> Prompt:
        texts = [self._fill(*turn) for turn in turns]
        if self.config.style == "completion":
            return Prompt(text="".join(texts))
        roles = ["user", "assistant", "user"][: len(turns)]
        if system and not self.model.system_role:
            texts[0] = f"{system}\n\n{texts[0]}"
        elif system:
            roles, texts = ["system", *roles], [system, *texts]
        return Prompt(messages=tuple(map(Message, roles, texts)))

    def _fill(self, template: str, code: str, name: str) -> str:
        shown = code.strip("\n") if self.config.style == "chat" else code
        texts = dict(self._texts(template, shown, name))
        # One pass over the template: a slot's name inside the code is text like any other.
        return _SLOT.sub(lambda slot: texts.get(slot[1], slot[0]), template)

    def _texts(self, template: str, code: str, name: str) -> Iterator[tuple[str, str]]:
        yield "code", code
        yield "name", name
        yield "examples", self.config.examples_text if self._with_calls else ""
        for token in ("fim_prefix", "fim_suffix", "fim_middle"):
            yield token, getattr(self.model, token)
        if "{head}" in template or "{body}" in template:
            yield from zip(("head", "body"), split_function(code, name), strict=True)
        description = self.example.description
        if self._with_calls and self.example.calls:
            description += f"\n\n{self.example.calls}"
        yield "description", description
        yield "docstring", description.replace("\n", "\n    ")

    @property
    def _with_calls(self) -> bool:
        return self.config.examples == "with"
