"""Sets, options that name several others: `diagnostics=cheap` is a list of diagnostics, and passes them its settings.

Only groups that change no number have sets (conf/groups.yaml, `science: false`): a set may grow without changing a run.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from launch.runs.classes import settings_of
from launch.runs.groups import COMPONENTS
from launch.runs.options import Option
from plasticity_lab.errors import ConfigError
from plasticity_lab.run import JOINED

OptionOf = Callable[[str, str], Option]
"""(group, name) → the option."""
Values = Mapping[str, Sequence[Any]]
"""Dotted name of a setting → the values given."""


Member = tuple[Option, tuple[Option, ...]]
"""An option that is no set, and the sets that led to it, the innermost last."""


def spread(group: str, choice: str, said: Values, option_of: OptionOf) -> tuple[str, dict[str, Sequence[Any]]]:
    """The choice with its sets replaced by their members, and the values of each set passed to its members.

    A setting without an option's name, as in `diagnostics.every=task`, goes to all chosen options that have it. A value
    for one option, or for a smaller set, takes precedence. Raises ConfigError for a setting that no member has.
    """
    names = COMPONENTS[group].names_in(choice)
    members: dict[str, Member] = {}
    for name in names:
        for option, within in _members(group, name, (), option_of):
            members.setdefault(option.name, (option, within))
    sets = {outer.name for _, within in members.values() for outer in within}
    if not sets and len(members) < 2:
        return choice, dict(said)
    others = {key: values for key, values in said.items() if key.partition(".")[0] != group}
    typed = {key.partition(".")[2]: values for key, values in said.items() if key.partition(".")[0] == group}
    taken: set[str] = set()
    for name, (option, within) in members.items():
        prefixes = (f"{name}.", *(f"{outer.name}." for outer in reversed(within)), "")
        for setting in _settings(option):
            keys = [f"{prefix}{setting}" for prefix in prefixes if f"{prefix}{setting}" in typed]
            defaults = [outer.settings[setting] for outer in reversed(within) if setting in outer.settings]
            if keys:
                others[f"{group}.{name}.{setting}"] = typed[keys[0]]
                taken |= {*keys}
            elif defaults:
                others[f"{group}.{name}.{setting}"] = [defaults[0]]
    for key, values in typed.items():
        if key in taken:
            continue
        first, dot, _ = key.partition(".")
        if dot and first not in sets:
            others[f"{group}.{key}"] = values  # a member's, or an option's that is not chosen: `places_of` raises then
        else:
            of = first if dot else choice
            known = dict.fromkeys(setting for option, _ in members.values() for setting in _settings(option))
            raise ConfigError(f"{group}={of} has no setting '{key.rpartition('.')[2]}'; there are {', '.join(known)}.")
    return JOINED.join(members), others


def _members(group: str, name: str, within: tuple[Option, ...], option_of: OptionOf) -> Iterator[Member]:
    """The members of an option.  Raises ConfigError for a set that holds itself."""
    option = option_of(group, name)
    named = getattr(option.extras, "members", None)
    if named is None:
        yield option, within
        return
    if name in [outer.name for outer in within]:
        raise ConfigError(f"{group}={name}: its file names it among its own members; a set cannot hold itself.")
    for member in named:
        yield from _members(group, member, (*within, option), option_of)


def _settings(option: Option) -> list[str]:
    return [] if option.target is None else settings_of(option.target)
