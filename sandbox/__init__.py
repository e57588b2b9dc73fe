"""Running untrusted programs: isolation, values, verdicts.

Names are loaded when first used: the zygote imports this package too, and stays lean.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sandbox.actor import SandboxActor
    from sandbox.box import Sandbox
    from sandbox.compare import equal
    from sandbox.pool import SandboxPool
    from sandbox.proof import Isolation
    from sandbox.types import Call, Job, Kind, Limits, Load, Outcome, ProgramResult
    from sandbox.verdicts import (
        Expectation,
        Verdict,
        judge_outcome,
        outcomes_match,
        program_verdict,
    )

_NAMES = {
    "actor": ("SandboxActor",),
    "box": ("Sandbox",),
    "compare": ("equal",),
    "pool": ("SandboxPool",),
    "proof": ("Isolation",),
    "types": ("Call", "Job", "Kind", "Limits", "Load", "Outcome", "ProgramResult"),
    "verdicts": ("Expectation", "Verdict", "judge_outcome", "outcomes_match", "program_verdict"),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "Sandbox",
    "SandboxActor",
    "SandboxPool",
    "Isolation",
    "Call",
    "Job",
    "Kind",
    "Limits",
    "Load",
    "Outcome",
    "ProgramResult",
    "Expectation",
    "Verdict",
    "equal",
    "judge_outcome",
    "outcomes_match",
    "program_verdict",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"sandbox.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'sandbox' has no attribute {name!r}")
