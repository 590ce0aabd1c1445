"""Which option of which combination a setting's name means: intervention.every, or intervention.redo.every of several.

An address is a group, or `<group>.<option>` of each of several options (see `Run.targets`).
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from launch.runs.classes import settings_of
from launch.runs.options import Option
from launch.runs.precedence import Nodes
from plasticity_lab.errors import ConfigError
from plasticity_lab.run import group_of


def addressed(group: str, options: Sequence[Option]) -> dict[str, Option]:
    """The options chosen of a group, by address."""
    return {group: options[0]} if len(options) == 1 else {f"{group}.{option.name}": option for option in options}


def filled(nodes: Nodes, parts: Mapping[str, Option], swept: Mapping[str, Sequence[Any]]) -> Iterator[Nodes]:
    """The nodes with each combination of the swept values put in.

    swept: dotted name, as it was given → values. Raises ConfigError for a name that means no setting here, or several.
    """
    places = places_of(swept, parts)
    for values in itertools.product(*swept.values()):
        found = {address: dict(settings) for address, settings in nodes.items()}
        for (address, setting), value in zip(places.values(), values, strict=True):
            found[address][setting] = value
        yield found


def places_of(names: Sequence[str] | Mapping[str, Any], parts: Mapping[str, Option]) -> dict[str, tuple[str, str]]:
    """Dotted name, as it was given → address and setting.  Raises ConfigError as `filled`."""
    found: dict[str, tuple[str, str]] = {}
    for name in names:
        place = _place_of(name, parts)
        if place in found.values():
            first = next(other for other, of in found.items() if of == place)
            raise ConfigError(f"{first} and {name} are the same setting here; give it once.")
        found[name] = place
    return found


def has_setting(name: str, parts: Mapping[str, Option]) -> bool:
    """Whether a dotted name means a setting of one or several options of its group.  parts: the group's."""
    rest = name.partition(".")[2]
    option, dot, setting = rest.partition(".")
    if dot:
        return any(_has(each, setting) for each in parts.values() if each.name == option)
    return any(_has(each, rest) for each in parts.values())


def _place_of(name: str, parts: Mapping[str, Option]) -> tuple[str, str]:
    group, _, rest = name.partition(".")
    option, dot, setting = rest.partition(".")
    if group in parts:  # it holds one option alone, whose name may be said
        return (group, setting) if dot and option == parts[group].name else (group, rest)
    held = {each.name: address for address, each in parts.items() if group_of(address) == group}
    choice = f"{group}=[{','.join(held)}]"
    if not dot:
        having = [f"{held[each.name]}.{rest}" for each in parts.values() if each.name in held and _has(each, rest)]
        right = f"say whose it is: {' or '.join(having)}" if having else "none of them has such a setting"
        raise ConfigError(f"{name}: {choice} holds several options; {right}.")
    if option not in held:
        raise ConfigError(f"{name}: {choice} holds no option {option}; it holds {' and '.join(held)}.")
    return held[option], setting


def _has(option: Option, setting: str) -> bool:
    return setting in settings_of(option.target)
