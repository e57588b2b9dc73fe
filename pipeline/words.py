"""The words of a command that is not configured by Hydra: places first, then ``key=value``."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conf import UserError

_KEY = re.compile(r"([a-z_]+)=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Words:
    """What a user wrote after a command's name."""

    places: tuple[str, ...]
    keys: Mapping[str, str]
    """Every key of the command: as given, else its default."""

    def flag(self, key: str) -> bool:
        """Return a key that is true or false.

        Raises:
            UserError: it is neither.
        """
        value = self.keys[key].lower()
        if value not in ("true", "false"):
            raise UserError(f"{key}={self.keys[key]}: must be true or false")
        return value == "true"

    def count(self, key: str) -> int:
        """Return a key that is a whole number from 1 on.

        Raises:
            UserError: it is not.
        """
        value = self.keys[key]
        if not re.fullmatch(r"0*[1-9][0-9]*", value):
            raise UserError(f"{key}={value}: must be a whole number, at least 1")
        return int(value)


def read_words(
    command: str,
    words: Sequence[str],
    *,
    places: Sequence[str],
    keys: Mapping[str, str],
    more: bool = False,
) -> Words:
    """Sort a command's words.

    Args:
        command: its name, for errors.
        words: as given.
        places: names of the words that it needs.
        keys: the keys that it knows, each with its default.
        more: the last place may be repeated.

    Raises:
        UserError: a place is missing or too much, or a key is unknown or given twice.
    """
    taken: list[str] = []
    given: dict[str, str] = {}
    for word in words:
        match = _KEY.fullmatch(word)
        if match is None:
            taken.append(word)
        elif match[1] not in keys or match[1] in given:
            what = "is given twice" if match[1] in keys else "is unknown"
            raise UserError(f"{command}: {match[1]}= {what}; {_usage(command, places, keys)}")
        else:
            given[match[1]] = match[2]
    if len(taken) < len(places) or (len(taken) > len(places) and not more):
        raise UserError(
            f"{command}: needs {' '.join(places)}{' and may have more' if more else ''}, "
            f"got {' '.join(taken) or 'nothing'}; {_usage(command, places, keys)}"
        )
    return Words(tuple(taken), {**keys, **given})


def _usage(command: str, places: Sequence[str], keys: Mapping[str, str]) -> str:
    parts = [*places, *(f"[{key}={default}]" for key, default in keys.items())]
    return f"usage: ./launch.sh {' '.join([command, *parts])}"
