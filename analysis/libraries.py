"""Libraries that only some commands need, installed by an extra."""

import importlib
from typing import Any

from conf import UserError


def need(module: str, *, extra: str) -> Any:
    """Import a module of an optional library.

    Args:
        module: its dotted name.
        extra: the extra of this package that installs it.

    Raises:
        UserError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UserError(
            f"{module} cannot be imported ({error}); pip install 'holdtrue[{extra}]'"
        ) from error
