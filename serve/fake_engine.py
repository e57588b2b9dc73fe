"""A deterministic engine without a model, for tests and simulation only.

The answer is a function of prompt and sampling parameters. A prompt whose last line of code names
a Python function (``def NAME(``) and which asks for a program gets a small program in a fence; one
that asks to ``assert`` gets an assert, about ``return_value`` if it speaks of that; any other
prompt gets a sentence. Words count as tokens.

Test hooks are markers in the prompt's text; they are found in a conversation's last message or in
raw text:

- ``FAKE:slow=S``: the answer takes S seconds more;
- ``FAKE:fail=N``: the first N tries on this replica raise EngineUnavailable;
- ``FAKE:die``: the replica's process ends at once, without cleaning up;
- ``FAKE:die_once=PATH``: the same, unless the file PATH exists; it is made first.
"""

import ast
import hashlib
import os
from collections import Counter
from pathlib import Path

from conf import ModelConfig, ServeConfig
from serve.engine import EngineUnavailable, Facts
from serve.fake_batch import FakeBatch
from serve.messages import Answer, Completion, Failure, Prompt, Sampling

MARKER = "FAKE:"

BODIES = (
    "return {0}",
    "return None",
    "return [{0}]",
    "return str({0})",
    "return sorted({0})",
    "return {0}[0]",
    "return len({0}) > 1",
    "return {0} + {0}",
)
"""Function bodies; ``{0}`` is the first parameter."""

RELATIONS = ("is not None", "== {0}", "!= {0}", "in (True, False)")
"""What an assert says of ``return_value``; ``{0}`` is the first parameter."""

VALUES = ("1", "2", "'ab'", "[2, 1]", "None", "True")
"""Arguments and results of asserts."""

SENTENCES = (
    "Return the argument as it is.",
    "Return the elements in ascending order.",
    "Return whether there is more than one element.",
    "Return the text that stands for the argument.",
    "Return the first element of the argument.",
)


class FakeEngine:
    """Answers at a set speed, a bounded number at a time.

    Args:
        model: gives the longest prompt plus completion, in words.
        config: speed and batch size.
    """

    def __init__(self, model: ModelConfig, config: ServeConfig) -> None:
        self._max_len = model.max_model_len
        self._tokens_per_s = config.fake_tokens_per_s
        self._batch = FakeBatch(config.fake_batch_limit)
        self._tries: Counter[str] = Counter()
        self._log = Path(config.fake_log) if config.fake_log else None

    async def generate(self, request_id: str, prompt: Prompt, sampling: Sampling) -> Answer:
        """Return the answer that belongs to this prompt and these parameters.

        Raises:
            EngineUnavailable: the prompt asks for it.
        """
        rendered = render(prompt)
        room = self._max_len - len(rendered.split())
        if room < 1:
            message = f"{len(rendered.split())} prompt words leave no room in {self._max_len}"
            return Failure("prompt_too_long", message, rendered_prompt=rendered)
        answer = _answer(rendered, prompt, sampling, room)
        seconds = self._obey_hooks(prompt)
        if self._tokens_per_s > 0:
            seconds += answer.completion_tokens / self._tokens_per_s
        await self._batch.take(seconds)
        if self._log:
            with self._log.open("a") as log:
                log.write(f"{prompt.key()} {sampling.sample} {request_id}\n")
        return answer

    async def check_health(self) -> None:
        """Do nothing: a fake engine is well as long as it lives."""

    def describe(self) -> Facts:
        """Return its limits, and the seconds in which its batch was full so far."""
        return {
            "backend": "fake",
            "max_model_len": self._max_len,
            "chat_template": True,
            "seconds_full": self._batch.seconds_full(),
        }

    def _obey_hooks(self, prompt: Prompt) -> float:
        """Do what a prompt's markers ask for; return for how many seconds more it is to take."""
        seconds = 0.0
        for name, value in _hooks(prompt):
            if name == "slow":
                seconds += float(value)
            elif name == "fail":
                self._tries[prompt.key()] += 1
                if self._tries[prompt.key()] <= int(value):
                    raise EngineUnavailable(f"asked to fail {value} times")
            elif name == "die" or (name == "die_once" and _first_time(Path(value))):
                os._exit(1)
        return seconds


def render(prompt: Prompt) -> str:
    """Return the text that the fake engine counts as the prompt."""
    if prompt.text is not None:
        return prompt.text
    turns = [f"<{turn.role}>\n{turn.content}\n" for turn in prompt.messages]
    return "".join(turns) + "<assistant>\n"


def _answer(rendered: str, prompt: Prompt, sampling: Sampling, room: int) -> Completion:
    digest = hashlib.sha256(f"{rendered}\0{sampling.to_json()}".encode()).digest()
    text = _write(_last_text(prompt), digest[0])
    for stop in sampling.stop:
        text = text.split(stop)[0]
    words = text.split(" ")
    kept = words[: min(sampling.max_tokens, room)]
    return Completion(
        text=" ".join(kept),
        rendered_prompt=rendered,
        prompt_tokens=len(rendered.split()),
        completion_tokens=len(kept),
        finish_reason="stop" if len(kept) == len(words) else "length",
        logprob=-len(kept) * (digest[1] + 1) / 256,
    )


def _write(text: str, choice: int) -> str:
    header = _function_to_write(text)
    if header is None:
        return SENTENCES[choice % len(SENTENCES)]
    parameters = [*header.args.posonlyargs, *header.args.args]
    first = parameters[0].arg if parameters else "None"
    if "assert" in text.partition("```")[0]:
        return f"```python\n{_write_assert(text, header.name, parameters, choice)}\n```"
    body = BODIES[choice % len(BODIES)].format(first)
    return f"```python\ndef {header.name}({ast.unparse(header.args)}):\n    {body}\n```"


def _write_assert(text: str, name: str, parameters: list[ast.arg], choice: int) -> str:
    if "return_value" in text:
        first = parameters[0].arg if parameters else "None"
        return f"assert return_value {RELATIONS[choice % len(RELATIONS)].format(first)}"
    picked = [VALUES[(choice + n) % len(VALUES)] for n in range(len(parameters) + 1)]
    return f"assert {name}({', '.join(picked[1:])}) == {picked[0]}"


def _function_to_write(text: str) -> ast.FunctionDef | None:
    """Return the last top-level function if it has no body yet but for a docstring."""
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("def ")]
    if not starts:
        return None
    block = [lines[starts[-1]]]
    for line in lines[starts[-1] + 1 :]:
        if line and not line[0].isspace():
            break
        block.append(line)
    try:
        (function,) = ast.parse("\n".join([*block, "    ..."])).body
    except SyntaxError:
        return None
    if not isinstance(function, ast.FunctionDef):
        return None
    written = [node for node in function.body if not _is_constant(node)]
    return None if written else function


def _is_constant(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _last_text(prompt: Prompt) -> str:
    return prompt.text if prompt.text is not None else prompt.messages[-1].content


def _hooks(prompt: Prompt) -> list[tuple[str, str]]:
    words = [word for word in _last_text(prompt).split() if word.startswith(MARKER)]
    pairs = [word.removeprefix(MARKER).partition("=") for word in words]
    return [(name, value) for name, _, value in pairs]


def _first_time(path: Path) -> bool:
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
