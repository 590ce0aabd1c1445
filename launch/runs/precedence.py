"""The settings of a run's components: which option a setting's name means, and which value wins.

option < benchmark < agent < schedule < protocol < hyperparams < experiment < typed. A benchmark and an agent may have
default settings for other options that are chosen with them. `resolve` adds the values that `hyperparams` finds (best,
grid, selected), except for settings that the last two sources set.

An address is a group, or `<group>.<option>` for each of several options (see `Run.targets`).
"""

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from launch.runs.classes import capped_of, defaults_of, settings_of
from launch.runs.groups import Protocol, Schedule
from launch.runs.options import Option
from plasticity_lab.errors import ConfigError
from plasticity_lab.run import group_of

Nodes = dict[str, dict[str, Any]]
"""Address → setting → value."""


def addressed(group: str, options: Sequence[Option]) -> dict[str, Option]:
    """The options chosen of a group, by address."""
    return {group: options[0]} if len(options) == 1 else {f"{group}.{option.name}": option for option in options}


def filled(nodes: Nodes, parts: Mapping[str, Option], swept: Mapping[str, Sequence[Any]]) -> Iterator[Nodes]:
    """The nodes with each combination of the swept values.

    swept: dotted name, as it was given → values. Raises ConfigError for a name that means no setting here, or several.
    """
    places = places_of(swept, parts)
    for values in itertools.product(*swept.values()):
        combination = {address: dict(settings) for address, settings in nodes.items()}
        for (address, setting), value in zip(places.values(), values, strict=True):
            combination[address][setting] = value
        yield combination


def places_of(names: Collection[str], parts: Mapping[str, Option]) -> dict[str, tuple[str, str]]:
    """Dotted name, as it was given → address and setting.  Raises ConfigError as `filled`."""
    places: dict[str, tuple[str, str]] = {}
    for name in names:
        place = _place_of(name, parts)
        if place in places.values():
            first = next(other for other, of_other in places.items() if of_other == place)
            raise ConfigError(f"{first} and {name} are the same setting here; give it once.")
        places[name] = place
    return places


def has_setting(name: str, parts: Mapping[str, Option]) -> bool:
    """Whether a dotted name means a setting of one or several options of its group.  parts: the group's."""
    rest = name.partition(".")[2]
    option, dot, setting = rest.partition(".")
    if dot:
        return any(_has(part, setting) for part in parts.values() if part.name == option)
    return any(_has(part, rest) for part in parts.values())


def _place_of(name: str, parts: Mapping[str, Option]) -> tuple[str, str]:
    group, _, rest = name.partition(".")
    option, dot, setting = rest.partition(".")
    if group in parts:  # a single option; the name may include it
        return (group, setting) if dot and option == parts[group].name else (group, rest)
    addresses = {part.name: address for address, part in parts.items() if group_of(address) == group}
    choice = f"{group}=[{','.join(addresses)}]"
    if not dot:
        having = [f"{address}.{rest}" for address in addresses.values() if _has(parts[address], rest)]
        right = f"name the option: {' or '.join(having)}" if having else "none of them has such a setting"
        raise ConfigError(f"{name}: {choice} holds several options; {right}.")
    if option not in addresses:
        raise ConfigError(f"{name}: {choice} holds no option {option}; it holds {' and '.join(addresses)}.")
    return addresses[option], setting


def _has(option: Option, setting: str) -> bool:
    return setting in settings_of(option.target)


def before_hyperparams(options: Mapping[str, Option], schedule: Schedule, protocol: Protocol) -> Nodes:
    """The settings of each component before those from `hyperparams`, the experiment and the command line."""
    nodes = {address: completed(option) for address, option in options.items()}
    for option in options.values():
        for group, by_option in getattr(option.extras, "default_settings", {}).items():
            for address in nodes:
                if group_of(address) == group:
                    nodes[address] |= by_option.get(options[address].name, {})
    for address, option in options.items():
        at_most = schedule.at_most
        if address != "benchmark":
            at_most = {name: most for name, most in at_most.items() if name in capped_of(option.target)}
        nodes[address] = capped(nodes[address], at_most)
    return overlaid(nodes, protocol.set)


def completed(option: Option) -> dict[str, Any]:
    """The settings of an option's file, and the constructor's defaults of the others."""
    return defaults_of(option.target) | dict(option.settings)


def capped(settings: Mapping[str, Any], at_most: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with the schedule's caps; null is no limit, so a cap replaces it."""

    def cap(key: str, value: Any) -> Any:
        if key not in at_most or not (value is None or isinstance(value, int | float)):
            return value  # the component refuses other values later
        return at_most[key] if value is None else min(value, at_most[key])

    return {key: cap(key, value) for key, value in settings.items()}


def overlaid(nodes: Nodes, values: Mapping[str, Mapping[str, Any]]) -> Nodes:
    """The nodes with the values, group → setting → value, for options that have the setting."""
    result: Nodes = {}
    for address, settings in nodes.items():
        of_group = values.get(group_of(address), {})
        result[address] = {key: of_group.get(key, value) for key, value in settings.items()}
    return result
