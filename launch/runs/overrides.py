"""One run as a list of Hydra overrides, and back: for launchers that cannot take resolved runs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from omegaconf import DictConfig, OmegaConf

from launch.runs.desk import Desk, run_of
from launch.runs.groups import COMPONENTS
from launch.runs.options import option_of
from launch.runs.precedence import addressed
from launch.runs.settings import Numbers, keys, settings
from launch.runs.words import spelled
from plasticity_lab.records.settings import Settings, checked
from plasticity_lab.run import JOINED, Run

NOTHING_LEFT = ("hyperparams=default", "protocol=as_published", "schedule=full")
"""The rules that look up, set and cap nothing: the overrides already give every value."""


NEVER_SAID = {"stopping"}
"""The settings that these launchers do not get: a search needs packs."""


def overrides_of(run: Run, command: Settings) -> list[str]:
    """The overrides that compose to exactly this run; `++` adds a value even if the option's file does not name it."""
    words = [word for group in COMPONENTS for word in _chosen(run, group)]
    words += NOTHING_LEFT
    for address in run.targets:
        words += [f"++{address}.{key}={spelled(value)}" for key, value in run.settings(address).items()]
    words += [f"{key}={spelled(run.science.get(key))}" for key in Numbers.model_fields]
    of_command = keys(command.model_dump(mode="json", exclude=NEVER_SAID))
    words += [f"{key}={spelled(value)}" for key, value in of_command.items()]
    return [*words, f"+asked_as={spelled(run.asked_as)}"]


def _chosen(run: Run, group: str) -> list[str]:
    """The words that choose the run's option of a group; several options are each placed below the group."""
    addresses = run.addresses(group)
    if addresses == [group]:
        return [f"{group}={run.name(group)}"]
    placed = [f"+{group}@{address}={run.name(address)}" for address in addresses]
    return [f"~{group}", *placed, f"++{group}.name={spelled(run.name(group))}"]  # Hydra keeps no order


def run_from(config: DictConfig, choices: Mapping[str, Any]) -> tuple[Run, Settings]:
    """The run that a config made of `overrides_of` describes, and how to compute it.  Raises ConfigError."""
    content: Any = OmegaConf.to_container(config, resolve=True)
    desk, parts = Desk(), {}
    for group in COMPONENTS:
        if group in choices:
            read = [option_of(group, choices[group], content[group])]
        else:
            read = [option_of(group, name, content[group][name]) for name in content[group]["name"].split(JOINED)]
        for address, option in addressed(group, read).items():
            parts[address] = desk.part(group, option.name, option.target or "", option.settings)
    desk.check_fit(parts)
    run = run_of(parts, checked(Numbers, {key: content[key] for key in Numbers.model_fields}), {})
    command = settings({key: content[key] for key in Settings.model_fields if key not in NEVER_SAID})
    return replace(run, asked_as=content["asked_as"]), command
