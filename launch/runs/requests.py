"""The words of a command as requests: choices, values and numbers, before the settings of an option are resolved.

A setting that some choices of a sweep lack is set for the other choices, and a note names both. For example,
`perturbation=shocks,none perturbation.cycle=1` sets the cycle of shocks, and nothing for none.

Sets are options that name several others: `diagnostics=cheap` is a list of diagnostics, and passes them its settings.
Only groups that change no number have sets (conf/groups.yaml, `science: false`): a set may grow without changing a run.
"""

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from launch.runs.arguments import MOST_RUNS, Axes, check_count, distinct, instead, parse, together
from launch.runs.classes import named_values_of, settings_of
from launch.runs.files import Preset
from launch.runs.groups import ADJUSTABLE, COMPONENTS, SCIENCE, Hyperparams
from launch.runs.options import Option, Options
from launch.runs.precedence import addressed, has_setting, options_named
from launch.runs.settings import Numbers, keys, nested, settings
from launch.wording import some
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.settings import Settings, checked
from plasticity_lab.run import JOINED, group_of

NUMBERS = tuple(Numbers.model_fields)

Choice = tuple[str, str]
"""The choice of a group, and the benchmark's, which decides what `auto` means."""
OptionOf = Callable[[str, str], Option]
"""(group, name) → the option."""
Values = Mapping[str, Sequence[Any]]
"""Dotted name of a setting → the values given."""
Member = tuple[Option, tuple[Option, ...]]
"""An option that is no set, and the sets that led to it, the innermost last."""


@dataclass(frozen=True)
class Request:
    """A command's words, before any option is read.

    choices: group → the options named. numbers: the seeds and the precision of each of its runs. swept: dotted name of
    a component's setting → its values. adjusted: dotted name of a rule's setting → its value. settings: how its runs
    are computed. lacking: dotted name of a setting → the choices of its group that do not have it.
    """

    choices: Mapping[str, Sequence[str]]
    numbers: Sequence[Numbers]
    swept: Mapping[str, Sequence[Any]]
    adjusted: Mapping[str, Any]
    settings: Settings
    lacking: Mapping[str, Collection[Choice]] = field(default_factory=dict)

    def swept_by(self, asked: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
        """`swept`, without the settings that one combination of choices lacks.  asked: group → its choice."""
        return {key: values for key, values in self.swept.items() if self.has(key, asked)}

    def adjusted_by(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """`adjusted`, without the settings that one combination of choices lacks."""
        return {key: value for key, value in self.adjusted.items() if self.has(key, asked)}

    def has(self, key: str, asked: Mapping[str, Any]) -> bool:
        """False for a setting that a combination of choices lacks, and another one has.  asked: group → its choice."""
        return (asked[group_of(key)], asked["benchmark"]) not in self.lacking.get(key, ())


def requests_of(options: Options, preset: Preset, typed: Sequence[str]) -> tuple[list[Request], list[str]]:
    """The request of each arm of the experiment, and lines about words that count once or for some arms only.

    Raises ConfigError.
    """
    repeated: dict[str, None] = {}
    requests = []
    of_preset, of_command = parse(preset.words, options.vocabulary), parse(typed, options.vocabulary)
    for arm in preset.arms or [()]:
        axes, lines = distinct(together(together(of_preset, parse(arm, options.vocabulary)), of_command))
        repeated |= dict.fromkeys(lines)
        requests.append(_request(options, axes))
    owners = _owners_of(options, requests)
    lacking = {key: of_key.without for key, of_key in owners.items()}
    requests = [replace(request, lacking=lacking) for request in requests]
    for request in requests:
        _check_size(request)
    return requests, [*repeated, *_lines_about(owners)]


def is_search(options: Options, request: Request) -> bool:
    """Whether a choice of `hyperparams` is one that searches."""
    rules = (options.option("hyperparams", name).extras for name in request.choices["hyperparams"])
    return any(isinstance(rule, Hyperparams) and rule.trials is not None for rule in rules)


def _request(options: Options, axes: Axes) -> Request:
    """The request, completed by config.yaml.  Raises ConfigError."""
    choices = {group: axes.choices.get(group, [chosen]) for group, chosen in options.chosen.items()}
    values_of = dict(axes.values)
    no_science = sorted(COMPONENTS.keys() - set(SCIENCE))
    for key, values in values_of.items():
        if group_of(key) in no_science:
            _only(key, values)
    for group in no_science:
        name, values_of = spread(group, _only(group, choices[group]), values_of, options.option)
        choices = {**choices, group: [name]}
    science = {key: values_of.get(key, [options.settings[key]]) for key in NUMBERS}
    of_components = [key for key in values_of if key.partition(".")[0] in COMPONENTS]
    swept = {key: _without_names(options, choices, key, values_of[key]) for key in of_components}
    check_count({key: len(values) for key, values in {**choices, **science}.items()})
    defaults = dict(options.settings)
    for group, chosen in options.once.items():
        name = _only(group, axes.choices.get(group, [chosen]))
        defaults |= keys({group: options.option(group, name).settings})
    once = {key: _only(key, values_of.get(key, [value])) for key, value in defaults.items() if key not in NUMBERS}
    of_runs = [dict(zip(science, values, strict=True)) for values in itertools.product(*science.values())]
    return Request(
        choices,
        [checked(Numbers, values) for values in of_runs],
        swept,
        {key: _only(key, values_of[key]) for key in ADJUSTABLE if key in values_of},
        settings(nested(once)),
    )


def _check_size(request: Request) -> None:
    """Raises ConfigError if a request names more runs than a command may."""

    def count_of(group: str, name: str, benchmark: str) -> int:
        """The combinations of the settings that are given for one choice."""
        asked = {group: name, "benchmark": benchmark}
        of_group = {key: values for key, values in request.swept.items() if group_of(key) == group}
        return prod(len(values) for key, values in of_group.items() if request.has(key, asked))

    total = 0
    for benchmark in request.choices["benchmark"]:
        choices = {**request.choices, "benchmark": [benchmark]}
        total += prod(sum(count_of(group, name, benchmark) for name in names) for group, names in choices.items())
    if total * len(request.numbers) > MOST_RUNS:
        seeds = {key: {getattr(of_run, key) for of_run in request.numbers} for key in NUMBERS}
        check_count({key: len(values) for key, values in {**request.choices, **seeds, **request.swept}.items()})


def _without_names(
    options: Options, choices: Mapping[str, Sequence[str]], key: str, values: Sequence[Any]
) -> list[Any]:
    """The values, with names replaced by the values that they name (see `Component.named_values`)."""
    group, _, setting = key.partition(".")
    named: dict[str, Sequence[Any]] = {}
    for name in (name for chosen in choices.get(group, ()) for name in COMPONENTS[group].names_in(chosen)):
        if name != "auto" and (target := options.option(group, name).target) is not None:
            named |= named_values_of(target, setting)

    def meant(value: Any) -> Sequence[Any]:
        if isinstance(value, list):
            return [[each for element in value for each in meant(element)]]
        return named.get(value, [value]) if isinstance(value, str) else [value]

    return [each for value in values for each in meant(value)] if named else list(values)


def _only(key: str, values: Sequence[Any]) -> Any:
    if len(values) > 1:
        raise ConfigError(f"{key} changes no run's numbers, so it cannot be swept; give it one value.")
    return values[0]


@dataclass
class Owners:
    """The choices of a group with a setting, and the choices without it.

    having, lacking: the names of their options, as keys. without: the choices that lack the setting. known: all
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


def _owners_of(options: Options, requests: Sequence[Request]) -> dict[str, Owners]:
    """Dotted name → its owners, for each setting that some choice of the command has and another one lacks.

    Raises ConfigError for a setting that none of several choices has; a single choice's class checks its own settings.
    """
    owners: dict[str, Owners] = {}
    for request in requests:
        for key in (*request.swept, *request.adjusted):
            group = group_of(key)
            for name in request.choices[group]:
                for benchmark in request.choices["benchmark"] if group != "benchmark" else [name]:
                    of_key = owners.setdefault(key, Owners())
                    of_key.add(key, (name, benchmark), options_named(options, group, name, benchmark))
    for key, of_key in owners.items():
        if not of_key.having and len(of_key.lacking) > 1:
            group, _, setting = key.partition(".")
            known = instead(setting.rpartition(".")[2], of_key.known)
            raise ConfigError(f"None of {group}={some(of_key.lacking)} has the setting '{setting}'{known}.")
    return {key: of_key for key, of_key in owners.items() if of_key.having and of_key.lacking}


def _lines_about(owners: Mapping[str, Owners]) -> list[str]:
    """A line for the settings of a group that have the same owners."""
    by_owners: dict[tuple[str, str, str], list[str]] = {}
    for key, of_key in owners.items():
        by_owners.setdefault((group_of(key), some(of_key.having), some(of_key.lacking)), []).append(key)
    return [
        f"{', '.join(names)}: set for {group}={having}; without effect for {lacking}, which "
        f"{'lacks' if lacking in owners[names[0]].lacking else 'lack'} {'it' if len(names) == 1 else 'them'}."
        for (group, having, lacking), names in by_owners.items()
    ]


def _has(key: str, options: Sequence[Option]) -> bool:
    if key in ADJUSTABLE:
        return getattr(options[0].extras, ADJUSTABLE[key]) is not None
    return has_setting(key, addressed(group_of(key), options))


def _settings(option: Option) -> list[str]:
    if option.target is not None:
        return settings_of(option.target)
    of_group = {key.partition(".")[2]: needed for key, needed in ADJUSTABLE.items() if group_of(key) == option.group}
    return [name for name, needed in of_group.items() if getattr(option.extras, needed) is not None]


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
