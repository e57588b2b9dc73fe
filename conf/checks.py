"""Bounds of single values; each complaint quotes the key and the value."""

from conf.errors import UserError


def one_of(key: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuse a value that is none of the choices."""
    if value not in choices:
        raise UserError(f"{key}={value!r} is not possible; choose one of {', '.join(choices)}")


def at_least(key: str, value: float, bound: float) -> None:
    """Refuse a value below a bound."""
    if value < bound:
        raise UserError(f"{key} must be at least {bound}, got {value}")
