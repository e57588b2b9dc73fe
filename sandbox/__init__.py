"""Running untrusted programs: isolation, values, verdicts.

Names are loaded when first used: the zygote imports this package too, and stays lean.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sandbox.box import Sandbox
    from sandbox.proof import Isolation
    from sandbox.types import Call, Job, Kind, Limits, Load, Outcome, ProgramResult

_HOMES = {
    "Sandbox": "box",
    "Isolation": "proof",
    **dict.fromkeys(("Call", "Job", "Kind", "Limits", "Load", "Outcome", "ProgramResult"), "types"),
}

__all__ = [
    "Sandbox",
    "Isolation",
    "Call",
    "Job",
    "Kind",
    "Limits",
    "Load",
    "Outcome",
    "ProgramResult",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"sandbox.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'sandbox' has no attribute {name!r}")
