"""One record of a data file, read field by field with errors that name the place."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conf import UserError

_KINDS: dict[type, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "an object",
}


@dataclass(frozen=True, slots=True)
class Record:
    """A mapping of fields and where it stands."""

    fields: Mapping[str, Any]
    where: str
    """File and line, as an error message names them."""

    def text(self, field: str) -> str:
        """Return a text field."""
        return str(self._typed(field, str))

    def optional_text(self, field: str) -> str | None:
        """Return a text field, or None where it is absent or null."""
        return None if self.fields.get(field) is None else self.text(field)

    def items(self, field: str) -> list[Any]:
        """Return a list field."""
        return list(self._typed(field, list))

    def number(self, field: str) -> float | None:
        """Return a number, or None where it is absent, null or empty text."""
        value = self.fields.get(field)
        if value is None or value == "":
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._wrong(field, "a number", value)
        return float(value)

    def identity(self, field: str) -> str:
        """Return a text or whole-number field as text."""
        value = self.fields.get(field)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return self.text(field)

    def within(self, part: str, value: object) -> "Record":
        """Return a nested object as a record of its own."""
        if not isinstance(value, Mapping):
            raise self._wrong(part, "an object", value)
        return Record(value, f"{self.where}, {part}")

    def error(self, problem: str) -> UserError:
        """Return an error that names this record."""
        return UserError(f"{self.where}: {problem}")

    def _typed(self, field: str, kind: type) -> Any:
        if self.fields.get(field) is None:
            raise self.error(f"field {field!r} is missing")
        value = self.fields[field]
        if not isinstance(value, kind):
            raise self._wrong(field, _KINDS[kind], value)
        return value

    def _wrong(self, field: str, wanted: str, value: object) -> UserError:
        given = "null" if value is None else f"{_name(value)} {_shorten(repr(value))}"
        return self.error(f"field {field!r} must be {wanted}, got {given}")


def _name(value: object) -> str:
    return _KINDS.get(type(value), type(value).__name__)


def _shorten(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[:limit] + "..."
