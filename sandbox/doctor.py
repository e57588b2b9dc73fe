"""What this host gives: the levels, and the proof of each, act by act, as lines of text."""

import platform
from collections.abc import Iterator

from sandbox.box import Sandbox
from sandbox.levels import REMEDIES, Level, LevelUnavailable, candidates
from sandbox.proof import Act, Isolation

_NOTHING_SAFE = "sandbox.isolation=auto takes nothing here: do not run untrusted programs"


def report(levels: tuple[Level, ...] = tuple(Level)) -> Iterator[str]:
    """Try every level on this host and yield the lines of a report."""
    given = []
    for level in levels:
        try:
            with Sandbox(level.value) as box:
                yield from _describe(box.isolation)
        except LevelUnavailable as error:
            yield f"{level.value}: not possible: {error.layer}: {error.reason}"
            yield f"  {'remedy':<10}  {REMEDIES[error.layer]}"
        else:
            given.append(level)
        yield ""
    best = [level.value for level in candidates("auto") if level in given]
    yield f"sandbox.isolation=auto takes {best[0]}" if best else _NOTHING_SAFE


def _describe(isolation: Isolation) -> Iterator[str]:
    host = f"{platform.system()} {isolation.kernel}, {isolation.architecture}"
    yield f"{isolation.level.value}: proved on {host}"
    yield f"  layers      {', '.join(isolation.layers)}"
    if isolation.landlock_abi:
        yield f"  Landlock    ABI {isolation.landlock_abi}"
    if isolation.filter_sha256:
        yield f"  seccomp     filter sha256 {isolation.filter_sha256[:16]}"
    if isolation.namespaces:
        yield f"  namespaces  {', '.join(isolation.namespaces)}"
    yield f"  Python      {isolation.python}, {isolation.preloaded} modules preloaded"
    for act in isolation.acts:
        yield f"  {_mark(act):>12}  {act.name}{f': {act.detail}' if act.detail else ''}"


def _mark(act: Act) -> str:
    """``refused`` and ``works`` are as wanted; ``OPEN`` is what this level leaves open."""
    if act.wanted == "done":
        return "works" if act.happened == "done" else "BROKEN"
    return "refused" if act.happened == "refused" else "OPEN"
