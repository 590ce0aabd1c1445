"""Which value a setting has when several sources name one.

option < benchmark < agent < schedule < protocol < hyperparams < experiment < typed. A benchmark and an agent may have
default settings for other options that are chosen beside them. `resolve` puts in what `hyperparams` finds (best, grid,
selected), except where the last two say something.
Everything here is a pure function of plain dictionaries: address → setting → value (see `Run.targets`).
"""

from collections.abc import Mapping
from typing import Any

from launch.runs.classes import capped_of, defaults_of
from launch.runs.options import Option, Protocol, Schedule
from plasticity_lab.run import group_of

Nodes = dict[str, dict[str, Any]]


def capped(settings: Mapping[str, Any], at_most: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with the schedule's caps on those that it names; null is no limit, so a cap replaces it."""

    def cap(key: str, value: Any) -> Any:
        if key not in at_most or not (value is None or isinstance(value, int | float)):
            return value  # what is not a number is refused later, by the component
        return at_most[key] if value is None else min(value, at_most[key])

    return {key: cap(key, value) for key, value in settings.items()}


def overlaid(nodes: Nodes, values: Mapping[str, Mapping[str, Any]]) -> Nodes:
    """The nodes with the values put in, by group, where an option has the setting; what it does not have is skipped."""
    return {
        address: {key: values.get(group_of(address), {}).get(key, value) for key, value in settings.items()}
        for address, settings in nodes.items()
    }


def completed(option: Option) -> dict[str, Any]:
    """The settings of an option's file, and the constructor's defaults for those that the file does not name."""
    return defaults_of(option.target) | dict(option.settings)


def before_hyperparams(options: Mapping[str, Option], schedule: Schedule, protocol: Protocol) -> Nodes:
    """The settings of each component before values of `hyperparams`, of the experiment and of the command line."""
    nodes = {address: completed(option) for address, option in options.items()}
    for option in options.values():
        for group, by_option in getattr(option.extras, "default_settings", {}).items():
            for address in nodes:
                if group_of(address) == group:
                    nodes[address] |= by_option.get(options[address].name, {})
    for address, option in options.items():
        own = schedule.at_most
        if address != "benchmark":
            own = {name: most for name, most in own.items() if name in capped_of(option.target)}
        nodes[address] = capped(nodes[address], own)
    return overlaid(nodes, protocol.set)
