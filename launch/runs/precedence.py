"""One combination of choices: the options that it names, their settings, and whether the agent can use them.

Which option a setting's name means, and which value wins: option < benchmark < agent < schedule < protocol <
hyperparams < experiment < typed. A benchmark and an agent may have default settings for other options that are chosen
with them. `resolve` adds the values that `hyperparams` finds (best, grid, selected), except for settings that the last
two sources set.

An address is a group, or `<group>.<option>` for each of several options (see `Run.targets`).
"""

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from launch.runs import classes
from launch.runs.classes import capped_of, defaults_of, settings_of
from launch.runs.desk import Misfit
from launch.runs.groups import ADJUSTABLE, AUTO, COMPONENTS, RULES, Hyperparams, Protocol, Schedule
from launch.runs.options import Option, Options
from plasticity_lab import component
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.settings import checked
from plasticity_lab.run import group_of

if TYPE_CHECKING:
    from plasticity_lab.agents.agent import Agent

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


def combination(
    options: Options, asked: Mapping[str, Any], adjusted: Mapping[str, Any]
) -> tuple[dict[str, Option], Nodes, Hyperparams]:
    """One combination's component options, their settings before `hyperparams`, and the rule of that group.

    Raises Misfit for an agent that cannot use the others, as their classes declare.
    """
    benchmark = options.option("benchmark", asked["benchmark"])
    parts: dict[str, Option] = {}
    for group in COMPONENTS:
        parts |= addressed(group, options_named(options, group, asked[group], benchmark.name))
    _check_learns(options, parts["agent"], benchmark)
    for part in parts.values():
        _check_provided(options, parts["agent"], part)
    rules = {group: _rule(options, options.option(group, asked[group]), adjusted) for group in RULES}
    return parts, before_hyperparams(parts, rules["schedule"], rules["protocol"]), rules["hyperparams"]


def _rule(options: Options, rule: Option, values: Mapping[str, Any]) -> Any:
    """A rule with the command's settings in it.  Raises ConfigError for settings that the rule does not have."""
    settings = {key.partition(".")[2]: value for key, value in values.items() if key.startswith(f"{rule.group}.")}
    for name in settings:
        needed = ADJUSTABLE[f"{rule.group}.{name}"]
        if getattr(rule.extras, needed) is None:
            others = (options.option(rule.group, other) for other in options.vocabulary.options[rule.group])
            has = " or ".join(other.name for other in others if getattr(other.extras, needed) is not None)
            raise ConfigError(f"{rule.group}={rule.name} has no setting '{name}'; {rule.group}={has} has.")
    if not settings:
        return rule.extras
    return checked(RULES[rule.group], {**dict(rule.extras), **settings}, f"{rule.group}.")


def options_named(options: Options, group: str, choice: str, benchmark: str) -> list[Option]:
    """The options that a choice of a group names for a benchmark."""
    if group not in COMPONENTS:
        return [options.option(group, choice)]
    names = COMPONENTS[group].names_in(choice)
    return [_component(options, group, name, options.option("benchmark", benchmark)) for name in names]


def _component(options: Options, group: str, name: str, benchmark: Option) -> Option:
    if group in AUTO and name == "auto":
        name = getattr(benchmark.extras, AUTO[group])
        if name is None:
            raise ConfigError(f"{group}=auto: benchmark={benchmark.name} has no {AUTO[group]}; name the {group}.")
    option = options.option(group, name)
    if option.target is None:
        raise ConfigError(f"{group}={name} has no _target_; its file must name its class.")
    base = COMPONENTS[group].base
    if not classes.is_derived(option.target, base):
        raise ConfigError(f"{group}={name}: '{option.target}' is no {group}; its class must be derived from {base}.")
    return option


def _class_of(agent: Option) -> "type[Agent]":
    from plasticity_lab.agents.agent import Agent  # torch: --help need not wait for it

    return component.load_as(agent.target, Agent)


def _agents(options: Options, fits: "Callable[[type[Agent]], bool]") -> str:
    """The names of the agents that fit, as a choice of words; empty if none fits."""
    agents = [options.option("agent", name) for name in options.vocabulary.options["agent"]]
    return " or ".join(agent.name for agent in agents if agent.target and fits(_class_of(agent)))


def _check_learns(options: Options, agent: Option, benchmark: Option) -> None:
    """Raises Misfit if the agent learns another kind of benchmark; the message names agents that do."""
    if classes.learns(agent.target or "", benchmark.target or ""):
        return
    from plasticity_lab.benchmarks.benchmark import Benchmark

    learns, kind = _class_of(agent).learns, component.load_as(benchmark.target, Benchmark)
    default = getattr(benchmark.extras, AUTO["agent"])
    if default is not None:
        right = f"agent=auto takes the benchmark's own ({default})"
    else:
        able = _agents(options, lambda cls: issubclass(kind, cls.learns))
        right = f"agent={able} learns them" if able else "no agent here learns them"
    tasks = f"the tasks of benchmark={benchmark.name} are {kind.tasks_are}"
    raise Misfit(f"agent={agent.name} learns {learns.tasks_are}, and {tasks}; {right}.", ("agent", "benchmark"))


def _check_provided(options: Options, agent: Option, part: Option) -> None:
    """Raises Misfit if the agent does not provide all that an option requires; names agents that do."""
    missing = classes.lacks(agent.target or "", part.target or "")
    if not missing:
        return
    requires = getattr(component.load(part.target), "requires", frozenset())
    able = _agents(options, lambda cls: requires <= cls.provides)
    lacks = f"agent={agent.name} does not provide it (`provides` of its class)"
    right = f"agent={able} does" if able else "no agent here does"
    sentence = f"{part.group}={part.name} requires of its agent {' and '.join(missing)}, and {lacks}; {right}."
    raise Misfit(sentence, ("agent", part.group))
