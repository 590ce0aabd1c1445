"""Settings that some choices of a sweep lack: they are set for the choices that have them, and a line says so.

`perturbation=shocks,none perturbation.cycle=1` sets the cycle of shocks, and nothing for none.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from launch.runs.addresses import addressed, has_setting
from launch.runs.arguments import instead
from launch.runs.classes import settings_of
from launch.runs.options import ADJUSTABLE, Option
from launch.wording import some
from plasticity_lab.errors import ConfigError
from plasticity_lab.run import JOINED, group_of

Choice = tuple[str, str]
"""The choice of a group, and the benchmark's, which decides what `auto` means."""
OptionsOf = Callable[[str, str, str], Sequence[Option]]
"""(group, its choice, the benchmark's choice) → the options chosen."""


@dataclass
class Owners:
    """Who has a setting, among the choices of its group.

    having, lacking: the options' names, sorted, as keys. without: the choices that lack the setting. known: all
    settings that the choices have.
    """

    having: dict[str, None] = field(default_factory=dict)
    lacking: dict[str, None] = field(default_factory=dict)
    without: set[Choice] = field(default_factory=set)
    known: dict[str, None] = field(default_factory=dict)

    def add(self, key: str, choice: Choice, options: Sequence[Option]) -> None:
        """Asks one choice for the setting."""
        name = JOINED.join(option.name for option in options)
        self.known |= dict.fromkeys(setting for option in options for setting in _settings(option))
        if _has(key, options):
            self.having[name] = None
        else:
            self.lacking[name] = None
            self.without.add(choice)


def owners_of(
    asked: Sequence[tuple[Mapping[str, Sequence[str]], Collection[str]]], options_of: OptionsOf
) -> dict[str, Owners]:
    """Dotted name → its owners, for each setting that some choice of the command has and another one lacks.

    asked: for each request of a command the choices of each group, and the settings that are given. Raises ConfigError
    for a setting that none of several choices has; a single choice's class checks its own settings.
    """
    found: dict[str, Owners] = {}
    for choices, keys in asked:
        for key in keys:
            group = group_of(key)
            for name in choices[group]:
                for benchmark in choices["benchmark"] if group != "benchmark" else [name]:
                    owners = found.setdefault(key, Owners())
                    owners.add(key, (name, benchmark), options_of(group, name, benchmark))
    for key, owners in found.items():
        if not owners.having and len(owners.lacking) > 1:
            group, _, setting = key.partition(".")
            raise ConfigError(
                f"None of {group}={some(owners.lacking)} has the setting '{setting}'"
                f"{instead(setting.rpartition('.')[2], owners.known)}."
            )
    return {key: owners for key, owners in found.items() if owners.having and owners.lacking}


def lines(found: Mapping[str, Owners]) -> list[str]:
    """A line for the settings of a group that have the same owners."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for key, owners in found.items():
        alike.setdefault((group_of(key), some(owners.having), some(owners.lacking)), []).append(key)
    return [
        f"{', '.join(keys)}: set for {group}={having}; without effect for {lacking}, which "
        f"{'lacks' if lacking in found[keys[0]].lacking else 'lack'} {'it' if len(keys) == 1 else 'them'}."
        for (group, having, lacking), keys in alike.items()
    ]


def _has(key: str, options: Sequence[Option]) -> bool:
    if key in ADJUSTABLE:
        return getattr(options[0].extras, ADJUSTABLE[key]) is not None
    return has_setting(key, addressed(group_of(key), options))


def _settings(option: Option) -> list[str]:
    if option.target is not None:
        return settings_of(option.target)
    own = {key.partition(".")[2]: needed for key, needed in ADJUSTABLE.items() if group_of(key) == option.group}
    return [name for name, needed in own.items() if getattr(option.extras, needed) is not None]
