"""Settings in short words, for headings and titles: the settings that differ, with their group if needed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.conf import groups
from analysis.names import NAMES, display
from analysis.rows import key, varying

Settings = Mapping[str, Any]
OPTION = "name"
"""The last part of the key for the option of a group, as in "agent.name"."""


def telling(several: Iterable[Settings]) -> list[str]:
    """The keys with different values, without keys that follow from the option of their group.

    For runs with a replay memory of 280 images and runs without one, only agent.name is needed. For runs with memories
    of two sizes, agent.memory is needed.
    """
    different = list({id(settings): settings for settings in several}.values())
    names = varying(different)
    return [name for name in names if not _follows(name, names, different)]


def words_of(settings: Settings, names: Sequence[str]) -> str:
    """The named settings, as in "no replay, lr=0.01"; keys with the same last part keep their group."""
    leaves = [_leaf(name) for name in names]
    words = []
    for name, leaf in zip(names, leaves, strict=True):
        if leaf == OPTION:
            words.append(_option(name, settings))
        else:
            words.append(f"{leaf if leaves.count(leaf) == 1 else name}={word(settings.get(name))}")
    return ", ".join(words)


def short_words(settings: Settings, names: Iterable[str] | None = None) -> str:
    """Settings of an activation without their groups, the learning rate last.  names: settings to show; None: all."""
    ordered = sorted(settings if names is None else names, key=lambda name: name == "optimizer.lr")
    values = [settings.get(name) for name in ordered]
    values = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    return ", ".join(f"{_leaf(name)}={value}" for name, value in zip(ordered, values, strict=True))


def word(value: Any) -> str:
    """A value as in a heading."""
    return "null" if value is None else str(value)


def _follows(name: str, names: Sequence[str], several: Sequence[Settings]) -> bool:
    option = f"{name.partition('.')[0]}.{OPTION}"
    if name == option or option not in names:
        return False
    values: dict[Any, set[str]] = {}
    for settings in several:
        values.setdefault(settings.get(option), set()).add(key({"value": settings.get(name)}))
    return all(len(of_option) == 1 for of_option in values.values())


def _leaf(name: str) -> str:
    return name.rpartition(".")[2]


def _option(name: str, settings: Settings) -> str:
    group = name.rpartition(".")[0]
    # A run without the group has the group's neutral option.
    chosen = str(settings.get(name) or groups().get(group, {}).get("neutral"))
    known = NAMES.get(group, {})
    return display(known, chosen) if chosen in known else chosen.replace("_", " ")
