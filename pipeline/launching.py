"""The words of ``slurm`` and ``kuberay``: options with their prefix, then a run's own."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from conf import UserError
from pipeline.compose import load_config

Options = TypeVar("Options")
DRY_RUN = "--dry-run"


@dataclass(frozen=True)
class Words:
    """What is left of a launcher's words without its own options."""

    arguments: tuple[str, ...]
    """``run`` and its keys, as the command line takes them."""
    dry_run: bool


def split_words(prefix: str, options: Options, words: Sequence[str]) -> tuple[Options, Words]:
    """Take ``PREFIX.key=value`` from the words, and check the run that the others ask for.

    Args:
        prefix: ``slurm`` or ``kuberay``.
        options: a dataclass of text and whole numbers with its defaults.
        words: as given.

    Raises:
        UserError: an option or a key of the run does not exist or does not fit.
    """
    given: dict[str, Any] = {}
    rest: list[str] = []
    for word in words:
        key, _, value = word.partition("=")
        if key.startswith(f"{prefix}."):
            name = key.removeprefix(f"{prefix}.")
            given[name] = _value(key, getattr(options, name, None), value, options)
        elif word != DRY_RUN:
            rest.append(word)
    keys = rest[1:] if rest[:1] == ["run"] else rest
    # A mistake is found now, not when the queue has let the job through.
    load_config(keys)
    return replace(options, **given), Words(("run", *keys), DRY_RUN in words)  # type: ignore[type-var]


def _value(key: str, default: Any, value: str, options: Any) -> str | int:
    if default is None:
        known = ", ".join(field.name for field in fields(options))
        raise UserError(f"there is no {key}; possible: {known}")
    if any(ord(letter) < ord(" ") for letter in value):
        raise UserError(f"{key}: must be one line")
    if not isinstance(default, int):
        return value
    if not value.isdecimal():
        raise UserError(f"{key}={value}: must be a whole number")
    return int(value)
