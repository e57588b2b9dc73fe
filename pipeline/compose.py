"""From the command line to a typed configuration. The only file that knows Hydra.

Hydra is used as a library: its grammar, defaults list and groups, but neither its logging nor its
working directories.
"""

import difflib
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, cast

from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

import conf
from conf import RunConfig, UserError

CONFIG_DIR = Path(conf.__file__).parent
OF_ONE_START = ("resume", "fresh", "runs_dir", "budget")
HOW_IT_RUNS = (
    "stall_minutes",
    "cluster",
    "tracking",
    "engine.replicas",
    "engine.cpus_per_replica",
    "chain.describer.replicas",
    "sandbox.actors",
    "serve.max_in_flight",
    "serve.attempts",
    "serve.backoff_s",
    "serve.request_timeout_s",
    "serve.start_timeout_s",
)
"""Groups and keys that may change while a run goes on, as when its machine is another one."""
MANIFESTS = ("kuberay",)
"""Files beside the options of a group that are none: a command of this name fills them in."""
FREE_MAPS = re.compile(r"engine\.(args|env)[.=]")
PLACE = re.compile(r"([a-z_.]+)=([a-z][a-z0-9+.-]*://[^'\"]*)")
DESCRIBER = re.compile(r"chain\.describer(\.prompt)?=(?!null$)([^{].*)")


def load_config(overrides: Sequence[str]) -> RunConfig:
    """Return the configuration that these overrides ask for.

    Args:
        overrides: in Hydra's grammar, such as ``chain.length=5`` or ``model=smollm2_135m``.

    Raises:
        UserError: a key, group option or value that does not exist or does not fit.
    """
    ConfigStore.instance().store(name="schema", node=RunConfig)
    for override in overrides:
        if override.partition("=")[2] in MANIFESTS and override.startswith("cluster="):
            raise UserError(f"{override}: is no option but a job; ./launch.sh kuberay prints it")
    opened = [_open(override) for override in overrides]
    try:
        with initialize_config_dir(config_dir=str(CONFIG_DIR), version_base="1.3"):
            composed = _compose(opened)
        _refuse_unknown(composed, RunConfig(), "")
        return cast(RunConfig, OmegaConf.to_object(composed))
    except HydraException as error:
        raise UserError(_explain(error)) from error
    except OmegaConfBaseException as error:
        raise UserError(_first_line(error)) from error
    except ValueError as error:
        # Hydra refuses `group=3` this way.
        raise UserError(f"{' '.join(overrides)}: {error}") from error


@dataclass(frozen=True)
class Choice:
    """One combination of a sweep."""

    words: tuple[str, ...]
    """Its overrides, each with one value."""
    chosen: dict[str, str]
    """The values of the keys that the sweep varies."""


def expand(overrides: Sequence[str]) -> list[Choice]:
    """Return every combination of the lists, ranges and globs in these overrides.

    The last key varies fastest; without anything to vary there is one combination.

    Raises:
        UserError: an override that is none.
    """
    try:
        parsed = OverridesParser.create().parse_overrides(list(overrides))
        swept: dict[str, list[str]] = {
            override.get_key_element(): list(override.sweep_string_iterator())
            for override in parsed
            if override.is_sweep_override()
        }
    except HydraException as error:
        raise UserError(_explain(error)) from error
    fixed = [str(override.input_line) for override in parsed if not override.is_sweep_override()]
    combined = (
        dict(zip(swept, values, strict=True)) for values in itertools.product(*swept.values())
    )
    return [
        Choice((*fixed, *(f"{key}={value}" for key, value in chosen.items())), chosen)
        for chosen in combined
    ]


def _open(override: str) -> str:
    """Return an override in Hydra's own words where ours are shorter."""
    if place := PLACE.fullmatch(override):  # whose query Hydra would take for its own grammar
        override = f"{place[1]}='{place[2]}'"
    if FREE_MAPS.match(override):
        return f"++{override}"
    if override.startswith("trust.from="):  # a field cannot have the name of a Python keyword
        return override.replace("from", "source", 1)
    if card := DESCRIBER.fullmatch(override):
        group = "prompt" if card[1] else "model"
        return f"+{group}@chain.describer.{group}={card[2]}"
    return override


def _compose(overrides: list[str]) -> DictConfig:
    """Compose, then once more with the prompt sets that the chosen models' cards ask for.

    Hydra resolves its groups before any value is known, so a card cannot choose one in a single
    pass unless it overrode the same group for every model that a run uses.
    """
    if not any("model@chain.describer.model=" in o for o in overrides):
        wrong = next((o for o in overrides if "chain.describer." in o), None)
        if wrong:
            raise UserError(f"{wrong}: choose a describer first, with chain.describer=CARD")
    composed = compose(config_name="config", overrides=overrides)
    added = []
    if not _chosen("prompt", overrides):
        added.append(f"prompt={composed.model.prompt}")
    describer = composed.chain.describer
    if describer is not None and not _chosen("prompt@chain.describer.prompt", overrides):
        added.append(f"+prompt@chain.describer.prompt={describer.model.prompt}")
    return compose(config_name="config", overrides=[*added, *overrides])


def _chosen(group: str, overrides: list[str]) -> bool:
    return any(override.lstrip("+").startswith(f"{group}=") for override in overrides)


def to_plain(config: RunConfig) -> dict[str, Any]:
    """Return a configuration as nested dictionaries of JSON values."""
    return cast(dict[str, Any], OmegaConf.to_container(OmegaConf.structured(config)))


def from_plain(plain: dict[str, Any]) -> RunConfig:
    """Return the configuration that ``to_plain`` wrote; keys it lacks take their defaults.

    Raises:
        UserError: it has a key or a value that there is no more.
    """
    try:
        merged = OmegaConf.merge(OmegaConf.structured(RunConfig), plain)
        return cast(RunConfig, OmegaConf.to_object(merged))
    except (OmegaConfBaseException, ValueError) as error:
        raise UserError(
            f"the run was made by another version of Holdtrue: {_first_line(error)}"
        ) from error


def overlaid(
    recorded: dict[str, Any], asked: RunConfig, overrides: Sequence[str] = ()
) -> tuple[RunConfig, list[str]]:
    """Return a recorded configuration with what this command line says, and the keys that differ.

    Args:
        recorded: of a run, from its folder.
        asked: from this command line; where it says nothing, the run's own values hold.
        overrides: its words, which may also say a default value.
    """
    default, given = to_plain(load_config([])), to_plain(asked)
    said = {override.partition("=")[0].lstrip("+") for override in overrides}
    said.update(differing_keys(default, given))
    differing = [key for key in differing_keys(recorded, given) if key in said]
    merged = json.loads(json.dumps(recorded))
    for key in differing:
        *parents, last = key.split(".")
        inner, source = merged, given
        for parent in parents:
            inner, source = inner.setdefault(parent, {}), source[parent]
        inner[last] = source.get(last)
    # These speak of one start, so the recorded ones are over.
    merged |= {key: given[key] for key in OF_ONE_START}
    return from_plain(merged), differing


def check_resumable(
    recorded: dict[str, Any], asked: RunConfig, overrides: Sequence[str] = ()
) -> RunConfig:
    """Return the configuration with which a run goes on: its own, but for how it is run.

    Args:
        recorded: of the run, from its folder.
        asked: from this command line.
        overrides: the words of this command line.

    Raises:
        UserError: this command line asks for something else than the run was started with.
    """
    config, differing = overlaid(recorded, asked, overrides)
    refused = [key for key in differing if not is_free(key)]
    if refused:
        raise UserError(
            f"resume={asked.resume}: that run was started with other values of "
            f"{', '.join(refused)}; leave them out, or start a new run"
        )
    return config


def is_free(key: str) -> bool:
    """Tell whether a key may change while a run goes on: it says how, not what."""
    free = (*OF_ONE_START, *HOW_IT_RUNS)
    return key in free or key.partition(".")[0] in free


def same_run(recorded: dict[str, Any], asked: RunConfig) -> bool:
    """Tell whether a recorded configuration is that of the same run.

    Keys that came later have their defaults; with one that is no more it is another run.
    """
    try:
        known = to_plain(from_plain(recorded))
    except UserError:
        return False
    return all(map(is_free, differing_keys(known, to_plain(asked))))


def differing_keys(old: dict[str, Any], new: dict[str, Any], prefix: str = "") -> list[str]:
    """Return the dotted keys at which two plain configurations differ."""
    keys: list[str] = []
    for key in sorted(old.keys() | new.keys()):
        a, b = old.get(key), new.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            keys += differing_keys(a, b, f"{prefix}{key}.")
        elif a != b:
            keys.append(prefix + key)
    return keys


def _refuse_unknown(config: DictConfig, schema: Any, prefix: str) -> None:
    # `+key=value` adds any key to Hydra's configuration; only the free maps may grow.
    for key in map(str, config):
        name = f"{prefix}{key}"
        if not hasattr(schema, key):
            raise UserError(_unknown_key(name))
        inner = getattr(schema, key)
        if is_dataclass(inner):
            _refuse_unknown(config[key], inner, f"{name}.")


def _explain(error: HydraException) -> str:
    text, cause = str(error), error.__cause__
    if found := re.search(r"Could not override '([^']+)'", text):
        return _unknown_key(found[1])
    if found := re.search(r"Could not find '([^'/]+)/([^']+)'", text):
        return _unknown_option(found[1], found[2])
    if found := re.search(r"Error merging override (.*)", text):
        why = _first_line(cause) if cause else "does not fit"
        return f"{found[1]}: {why}"
    return " ".join(line for line in text.splitlines() if "hydra.cc" not in line)


def _unknown_key(key: str) -> str:
    known = list(_keys(RunConfig(), ""))
    near = difflib.get_close_matches(key, known, n=3, cutoff=0.6)
    if near:
        return f"there is no key {key!r}; did you mean {', '.join(near)}?"
    parent = key.rpartition(".")[0]
    siblings = [k for k in known if k.rpartition(".")[0] == parent] or [
        k for k in known if "." not in k
    ]
    return f"there is no key {key!r}; possible here: {', '.join(siblings)}"


def _unknown_option(group: str, option: str) -> str:
    options = sorted(path.stem for path in (CONFIG_DIR / group).glob("*.yaml"))
    options = [name for name in options if name not in MANIFESTS]
    return f"{group}={option}: there is no such option; possible: {', '.join(options)}"


def _keys(schema: Any, prefix: str) -> Iterator[str]:
    for field in fields(schema):
        inner = getattr(schema, field.name)
        yield prefix + field.name
        if is_dataclass(inner):
            yield from _keys(inner, f"{prefix}{field.name}.")


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0]
