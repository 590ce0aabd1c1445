"""The words of a command as requests: choices, values and numbers, before any option is looked at for its own sake."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from typing import Any

from launch.runs.arguments import MOST_RUNS, Axes, check_count, distinct, parse, together
from launch.runs.classes import named_values_of
from launch.runs.combinations import options_named
from launch.runs.groups import COMPONENTS
from launch.runs.groups import SCIENCE as GROUPS_OF_SCIENCE
from launch.runs.lacking import Choice, lines, owners_of
from launch.runs.options import ADJUSTABLE, Hyperparams, Options
from launch.runs.presets import Preset
from launch.runs.sets import spread
from launch.runs.settings import Numbers, keys, nested, numbers, settings
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.settings import Settings
from plasticity_lab.run import group_of

SCIENCE = tuple(Numbers.model_fields)


@dataclass(frozen=True)
class Request:
    """A command's words, read before any option is.

    choices: group → the options named. numbers: of its runs. swept: a component's setting, by its dotted name →
    the values given. adjusted: the settings of rules, by their dotted names. settings: how its runs are computed.
    lacking: dotted name of a setting → the choices of its group that do not have it (see `lacking`).
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
    words, asked = parse(preset.words, options.vocabulary), parse(typed, options.vocabulary)
    for arm in preset.arms or [()]:
        said, again = distinct(together(together(words, parse(arm, options.vocabulary)), asked))
        repeated |= dict.fromkeys(again)
        requests.append(_request(options, said))
    owners = owners_of(
        [(each.choices, [*each.swept, *each.adjusted]) for each in requests], partial(options_named, options)
    )
    without = {key: of.without for key, of in owners.items()}
    requests = [replace(each, lacking=without) for each in requests]
    for each in requests:
        _check_size(each)
    return requests, [*repeated, *lines(owners)]


def is_search(options: Options, request: Request) -> bool:
    """Whether a choice of `hyperparams` is one that searches."""
    rules = (options.option("hyperparams", name).extras for name in request.choices["hyperparams"])
    return any(isinstance(rule, Hyperparams) and rule.trials is not None for rule in rules)


def _request(options: Options, said: Axes) -> Request:
    """The request, completed by config.yaml.  Raises ConfigError."""
    choices = {group: said.choices.get(group, [chosen]) for group, chosen in options.chosen.items()}
    for key, values in said.values.items():
        group = group_of(key)
        if group in COMPONENTS and not COMPONENTS[group].science:
            _only(key, values)
    for group in sorted(COMPONENTS.keys() - set(GROUPS_OF_SCIENCE)):
        name, values = spread(group, _only(group, choices[group]), said.values, options.option)
        choices, said = {**choices, group: [name]}, Axes(said.choices, values)
    science = {key: said.values.get(key, [options.settings[key]]) for key in SCIENCE}
    swept = {
        key: _without_names(options, choices, key, values)
        for key, values in said.values.items()
        if key.partition(".")[0] in COMPONENTS
    }
    check_count({key: len(values) for key, values in {**choices, **science}.items()})
    settled = dict(options.settings)
    for group, chosen in options.once.items():
        name = _only(group, said.choices.get(group, [chosen]))
        settled |= keys({group: options.option(group, name).settings})
    once = {key: _only(key, said.values.get(key, [value])) for key, value in settled.items() if key not in SCIENCE}
    return Request(
        choices,
        [numbers(dict(zip(science, each, strict=True))) for each in itertools.product(*science.values())],
        swept,
        {key: _only(key, said.values[key]) for key in ADJUSTABLE if key in said.values},
        settings(nested(once)),
    )


def _check_size(request: Request) -> None:
    """Raises ConfigError if a request names more runs than a command may."""

    def settings_of(group: str, name: str, benchmark: str) -> int:
        asked = {group: name, "benchmark": benchmark}
        own = {key: values for key, values in request.swept.items() if group_of(key) == group}
        return prod(len(values) for key, values in own.items() if request.has(key, asked))

    total = 0
    for benchmark in request.choices["benchmark"]:
        choices = {**request.choices, "benchmark": [benchmark]}
        total += prod(sum(settings_of(group, name, benchmark) for name in names) for group, names in choices.items())
    if total * len(request.numbers) > MOST_RUNS:
        seeds = {key: {getattr(each, key) for each in request.numbers} for key in SCIENCE}
        check_count({key: len(values) for key, values in {**request.choices, **seeds, **request.swept}.items()})


def _without_names(
    options: Options, choices: Mapping[str, Sequence[str]], key: str, values: Sequence[Any]
) -> list[Any]:
    """The values, with names replaced by the values that they name (see `Component.named_values`)."""
    group, _, setting = key.partition(".")
    names = [name for chosen in choices.get(group, ()) for name in COMPONENTS[group].names_in(chosen)]
    known: dict[str, Sequence[Any]] = {}
    for name in names:
        if name != "auto" and (target := options.option(group, name).target) is not None:
            known |= named_values_of(target, setting)

    def meant(value: Any) -> Sequence[Any]:
        if isinstance(value, list):
            return [[each for element in value for each in meant(element)]]
        return known.get(value, [value]) if isinstance(value, str) else [value]

    return [each for value in values for each in meant(value)] if known else list(values)


def _only(key: str, values: Sequence[Any]) -> Any:
    if len(values) > 1:
        raise ConfigError(f"{key} changes no run's numbers, so it cannot be swept; give it one value.")
    return values[0]
