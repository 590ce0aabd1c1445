"""The command that makes one run: the choices it was made of, and settings that their files in conf/ do not give."""

import functools
import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

import yaml

from analysis.conf import FOLDER, groups, option
from analysis.rows import Row

_SEEDS = ("seed", "stream_seed", "init_seed")
_PLAIN = re.compile(r"[\w.+-]+")


def words(row: Row) -> list[str]:
    """The words after `python -m plasticity_lab.main`, unquoted: `activation=relu`, `optimizer.lr=0.01`, `seed=3`.

    What a run's settings are wins over what its protocol and schedule would make of them, being said; those two are
    named so that tables find the run under them again.
    """
    return [*words_of_settings(row), *words_of_seeds(row)]


def words_of_settings(row: Row) -> list[str]:
    """The words without seeds: equal for runs that differ in seeds only."""
    settings = {**row.study, **row.own}
    chosen: dict[str, Any] = {group: settings.get(f"{group}.name") for group in groups()}
    chosen |= {name: getattr(row, name) for name in ("activation", "benchmark", "intervention")}
    named = {name: getattr(row, name) for name in ("protocol", "schedule") if getattr(row, name) != "unnamed"}
    usual = _usual(chosen["benchmark"])
    touched = _mentioned(named, chosen)
    said = [f"{group}={name}" for group, name in chosen.items() if name and name != usual.get(group)]
    said += [f"{name}={value}" for name, value in named.items() if value != usual.get(name)]
    said += [
        f"{key}={_spelled(value)}"
        for key, value in settings.items()
        if (group := key.partition(".")[0]) in chosen
        and not key.endswith(".name")
        and (key in touched or not _same(value, _in_its_file(key, chosen[group])))
    ]
    alone = {key: value for key, value in settings.items() if "." not in key and key not in _SEEDS}
    return said + [f"{key}={_spelled(value)}" for key, value in alone.items() if not _same(value, usual.get(key, ...))]


def words_of_seeds(row: Row) -> list[str]:
    """The others."""
    return [f"{key}={value}" for key, value in zip(_SEEDS, row.seeds, strict=True) if value is not None]


def command(row: Row) -> str:
    """The whole line, quoted for a shell."""
    return shlex.join(["python", "-m", "plasticity_lab.main", *words(row)])


def _in_its_file(key: str, chosen: str) -> Any:
    """What the file of the option chosen says of a setting, or of several options the one that the key names."""
    group, _, setting = key.partition(".")
    if "+" in chosen:
        chosen, _, setting = setting.partition(".")
    return option(group, chosen).get(setting, ...)


@functools.cache
def _usual(benchmark: str) -> Mapping[str, Any]:
    """What a command means that says nothing: of each group the option, of each setting without a group the value."""
    config = yaml.safe_load((FOLDER / "config.yaml").read_text(encoding="utf-8"))
    choices = {name: value for one in config["defaults"] if isinstance(one, dict) for name, value in one.items()}
    its_own = {
        key.removeprefix("default_"): value
        for key, value in option("benchmark", benchmark).items()
        if "default_" in key
    }
    # A benchmark is always named, so that the line says what is trained; so is the activation.
    return {**config, **choices, **its_own, "activation": None, "benchmark": None}


def _mentioned(named: Mapping[str, str], chosen: Mapping[str, str | None]) -> set[str]:
    """The settings that a protocol or a schedule may change, or that another choice (`default_settings`) does.

    A schedule also caps settings that an agent's class declares, which is not asked here: all that its caps would lower
    are taken for such.
    """
    at_most = option("schedule", named.get("schedule")).get("at_most") or {}
    of_agent = option("agent", chosen.get("agent"))
    lowered = {key for key, most in at_most.items() if isinstance(of_agent.get(key), int) and of_agent[key] > most}
    changed = option("protocol", named.get("protocol")).get("set") or {}
    found = {f"benchmark.{key}" for key in at_most} | {f"agent.{key}" for key in lowered}
    found |= {f"{group}.{key}" for group, of in changed.items() for key in of}
    for by_group in (option(group, name).get("default_settings") or {} for group, name in chosen.items()):
        found |= {f"{group}.{key}" for group, of in by_group.items() for key in of.get(chosen.get(group), {})}
    return found


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same, as a command reads them."""
    if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
        return one is other
    try:
        return float(one) == float(other)
    except (TypeError, ValueError):
        return one == other


def _spelled(value: Any) -> str:
    """A value as Hydra reads it."""
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_spelled, value))}]"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    word = str(value)
    return word if not isinstance(value, str) or _PLAIN.fullmatch(word) else json.dumps(word)
