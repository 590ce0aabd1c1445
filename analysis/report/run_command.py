"""The command that makes one run: its choices, and the settings that differ from their files in conf/."""

import functools
import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

import yaml

from analysis.conf import FOLDER, groups, option
from analysis.rows import SEEDS, Row

_PLAIN = re.compile(r"[\w.+-]+")


def words(row: Row) -> list[str]:
    """The words after `python -m plasticity_lab.main`, unquoted: `activation=relu`, `optimizer.lr=0.01`, `seed=3`.

    The settings in them override the values that the run's protocol and schedule set. The words name protocol and
    schedule too, so that tables find the run under the same names.
    """
    return [*words_of_settings(row), *words_of_seeds(row)]


def words_of_settings(row: Row) -> list[str]:
    """The words without seeds; they are equal for runs that differ only in seeds."""
    settings = {**row.study, **row.own}
    chosen: dict[str, Any] = {group: settings.get(f"{group}.name") for group in groups()}
    chosen |= {name: getattr(row, name) for name in ("activation", "benchmark", "intervention")}
    named = {name: getattr(row, name) for name in ("protocol", "schedule") if getattr(row, name) != "unnamed"}
    usual = _usual(chosen["benchmark"])
    touched = _mentioned(named, chosen)
    said = [f"{group}={name}" for group, name in chosen.items() if name and name != usual.get(group)]
    said += [f"{name}={value}" for name, value in named.items() if value != usual.get(name)]
    for key, value in settings.items():
        group = key.partition(".")[0]
        if group in chosen and not key.endswith(".name"):
            if key in touched or not _same(value, _in_its_file(key, chosen[group])):
                said.append(f"{key}={_spelled(value)}")
    alone = {key: value for key, value in settings.items() if "." not in key and key not in SEEDS}
    return said + [f"{key}={_spelled(value)}" for key, value in alone.items() if not _same(value, usual.get(key, ...))]


def words_of_seeds(row: Row) -> list[str]:
    """The words that name the seeds."""
    return [f"{key}={value}" for key, value in zip(SEEDS, row.seeds, strict=True) if value is not None]


def command(row: Row) -> str:
    """The whole command line, quoted for a shell."""
    return shlex.join(["python", "-m", "plasticity_lab.main", *words(row)])


def _in_its_file(key: str, chosen: str) -> Any:
    """The setting in the file of the chosen option. If several options are chosen, the key names one of them."""
    group, _, setting = key.partition(".")
    if "+" in chosen:
        chosen, _, setting = setting.partition(".")
    return option(group, chosen).get(setting, ...)


@functools.cache
def _usual(benchmark: str) -> Mapping[str, Any]:
    """The defaults of a command: the option of each group, and the value of each setting without a group."""
    config = yaml.safe_load((FOLDER / "config.yaml").read_text(encoding="utf-8"))
    choices = {name: value for one in config["defaults"] if isinstance(one, dict) for name, value in one.items()}
    declared = option("benchmark", benchmark).items()
    own = {key.removeprefix("default_"): value for key, value in declared if "default_" in key}
    # The benchmark and the activation have no default here, so that the command always names them.
    return {**config, **choices, **own, "activation": None, "benchmark": None}


def _mentioned(named: Mapping[str, str], chosen: Mapping[str, str | None]) -> set[str]:
    """The settings that a protocol, a schedule, or another choice (`default_settings`) may change.

    A schedule also caps settings that an agent's class declares. This function does not read the class: it counts all
    settings of the agent above a cap.
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
    """Whether a command reads the two values as equal."""
    if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
        return one is other
    try:
        return float(one) == float(other)
    except (TypeError, ValueError):
        return one == other


def _spelled(value: Any) -> str:
    """A value in Hydra's syntax."""
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_spelled, value))}]"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    word = str(value)
    return word if not isinstance(value, str) or _PLAIN.fullmatch(word) else json.dumps(word)
