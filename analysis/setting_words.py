"""Settings in short words, for headings and titles: those alone that differ, without the group where that is plain."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.names import NAMES, display
from analysis.rows import distinct, key, varying

Settings = Mapping[str, Any]
OPTION = "name"
"""The leaf of the key at which settings have the option of a group, as in "agent.name"."""


def telling(several: Iterable[Settings]) -> list[str]:
    """The keys at which settings are not all the same, without those that follow from the option of their group.

    Of runs with a replay memory of 280 images and of runs without one, agent.name tells all; of runs with memories of
    two sizes, agent.memory does.
    """
    alike = list(distinct(several).values())
    names = varying(alike)
    return [name for name in names if not _follows(name, names, alike)]


def words_of(settings: Settings, names: Sequence[str]) -> str:
    """Those settings, as in "no replay, lr=0.01"; a key that another group has too stays whole."""
    leaves = [_leaf(name) for name in names]
    return ", ".join(
        _option(name, settings)
        if leaf == OPTION
        else f"{leaf if leaves.count(leaf) == 1 else name}={word(settings.get(name))}"
        for name, leaf in zip(names, leaves, strict=True)
    )


def word(value: Any) -> str:
    """A value as headings have it."""
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
    group, chosen = name.rpartition(".")[0], str(settings.get(name))
    known = NAMES.get(group, {})
    return display(known, chosen) if chosen in known else chosen.replace("_", " ")
