"""From the words of a command to its runs."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from launch.runs.addresses import addressed, filled, places_of
from launch.runs.arguments import Axes, check_count, distinct, parse, together
from launch.runs.columns import check_columns
from launch.runs.desk import Desk, Misfit, Part, merged, runs_of
from launch.runs.groups import AUTO, COMPONENTS
from launch.runs.groups import SCIENCE as GROUPS_OF_SCIENCE
from launch.runs.options import ADJUSTABLE, RULES, Hyperparams, Option, Options
from launch.runs.precedence import Nodes, before_hyperparams
from launch.runs.ranges import Range
from launch.runs.remarks import remarks
from launch.runs.sets import spread
from launch.runs.settings import Numbers, keys, nested, numbers, settings
from launch.runs.values.place import Combination, put
from launch.runs.values.sources import Sources
from plasticity_lab import component
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.settings import Settings, checked
from plasticity_lab.run import Run, group_of

if TYPE_CHECKING:
    from plasticity_lab.agents.agent import Agent

SCIENCE = tuple(Numbers.model_fields)


@dataclass(frozen=True)
class Resolved:
    """What a command asks for: its runs, what to say once, and how to compute them."""

    runs: list[Run]
    notes: list[str]
    settings: Settings


@dataclass(frozen=True)
class Request:
    """What the words of a command say, before any option is looked at.

    choices: group → the options named. numbers: those of its runs. swept: a component's setting, by its dotted name →
    the values given. adjusted: the settings of rules, by their dotted names. settings: how its runs are computed.
    """

    choices: Mapping[str, Sequence[str]]
    numbers: Sequence[Numbers]
    swept: Mapping[str, Sequence[Any]]
    adjusted: Mapping[str, Any]
    settings: Settings


@dataclass(frozen=True)
class Preset:
    """What an experiment says: words, and the words that each of its arms has beside them, or in their place.

    Arms differ in more than one setting, or in settings that others do not have, so that no product of values names
    them all. No arms: the words alone.
    """

    words: Sequence[str] = ()
    arms: Sequence[Sequence[str]] = ()


def resolved(options: Options, preset: Preset, typed: Sequence[str]) -> Resolved:
    """The runs that an experiment's words and the typed words name together; a typed word replaces the experiment's.

    Raises ConfigError in a sentence that names the first thing wrong; nothing has been queued or written then.
    """
    requests, repeated = requests_of(options, preset, typed)
    for request in requests:
        _check_no_range(request)
    sources = Sources(options, requests[0].settings, requests[0].numbers)
    left_out: dict[str, None] = {}
    runs = merged(run for request in requests for run in runs_named(options, request, sources, left_out))
    if not runs and left_out:
        raise ConfigError(next(iter(left_out)))
    without = [f"Left out of the sweep: {sentence}" for sentence in left_out]
    notes = [*repeated, *options.notes, *sources.notes(), *without, *remarks(runs)]
    return Resolved(runs, notes, requests[0].settings)


def requests_of(options: Options, preset: Preset, typed: Sequence[str]) -> tuple[list[Request], list[str]]:
    """What the words say, for each arm of the experiment, and a line for each key with values that are given again.

    Raises ConfigError.
    """
    repeated: dict[str, None] = {}
    requests = []
    words, asked = parse(preset.words, options.vocabulary), parse(typed, options.vocabulary)
    for arm in preset.arms or [()]:
        said, again = distinct(together(together(words, parse(arm, options.vocabulary)), asked))
        repeated |= dict.fromkeys(again)
        requests.append(_request(options, said))
    return requests, list(repeated)


def is_search(options: Options, request: Request) -> bool:
    """Whether a choice of `hyperparams` is one that searches."""
    rules = (options.option("hyperparams", name).extras for name in request.choices["hyperparams"])
    return any(isinstance(rule, Hyperparams) and rule.trials is not None for rule in rules)


def _check_no_range(request: Request) -> None:
    """Raises ConfigError for a range, which is no list of values."""
    ranges = [key for key, values in request.swept.items() if any(isinstance(value, Range) for value in values)]
    if ranges:
        raise ConfigError(
            f"{ranges[0]} is given a range, in which hyperparams=search looks for the best value; several values are "
            f"written {ranges[0]}=one,other."
        )


def _request(options: Options, said: Axes) -> Request:
    """What is said, completed by what config.yaml says of everything else.  Raises ConfigError."""
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
    check_count({key: len(values) for key, values in {**choices, **science, **swept}.items()})
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


def _without_names(
    options: Options, choices: Mapping[str, Sequence[str]], key: str, values: Sequence[Any]
) -> list[Any]:
    """The values, in which words that stand for others have given way to those (see `Component.named_values`)."""
    group, _, setting = key.partition(".")
    names = [name for chosen in choices.get(group, ()) for name in COMPONENTS[group].names_in(chosen)]
    known: dict[str, Sequence[Any]] = {}
    for name in names:
        if name != "auto" and (target := options.option(group, name).target) is not None:
            known |= component.load(target).named_values.get(setting, {})

    def meant(value: Any) -> Sequence[Any]:
        if isinstance(value, list):
            return [[each for element in value for each in meant(element)]]
        return known.get(value, [value]) if isinstance(value, str) else [value]

    return [each for value in values for each in meant(value)] if known else list(values)


def runs_named(options: Options, request: Request, sources: Sources, left_out: dict[str, None]) -> Iterator[Run]:
    """A run for each combination of choices, values, values found by `hyperparams`, and numbers; some may be equal.

    left_out: gets a sentence for each combination that is none, where a sweep names others beside it.
    """
    desk, count = Desk(), 0
    for names in itertools.product(*request.choices.values()):
        asked = dict(zip(request.choices, names, strict=True)) | {"experiment": options.experiment}
        parts, nodes, hyperparams = combination(options, asked, request.adjusted)
        asked = {group: name for group, name in asked.items() if group not in COMPONENTS or COMPONENTS[group].science}
        pinned = [".".join(place) for place in places_of(request.swept, parts).values()]
        for own in filled(nodes, parts, request.swept):
            for found in sources.found(Combination(hyperparams, parts, own, pinned)):
                complete = put(found.values, own)
                chosen = {address: _part(desk, address, of, complete[address]) for address, of in parts.items()}
                try:
                    desk.check_fit(chosen)
                except Misfit as error:
                    if len(request.choices["intervention"]) == 1 and len(request.choices["head"]) == 1:
                        raise
                    left_out[str(error)] = None
                    continue
                check_columns(chosen)
                count += len(request.numbers)
                check_count({f"hyperparams={asked['hyperparams']}, and there are more": count})
                yield from runs_of(chosen, request.numbers, {**asked, **found.asked})


def _part(desk: Desk, address: str, option: Option, settings: Mapping[str, Any]) -> Part:
    try:
        return desk.part(option.group, option.name, option.target or "", settings)
    except ConfigError as error:
        if address == option.group:
            raise
        raise ConfigError(f"{address}: {error}") from error  # which of several options is meant


def _only(key: str, values: Sequence[Any]) -> Any:
    if len(values) > 1:
        raise ConfigError(f"{key} changes no run's numbers, so it cannot be swept; give it one value.")
    return values[0]


def combination(
    options: Options, asked: Mapping[str, Any], adjusted: Mapping[str, Any]
) -> tuple[dict[str, Option], Nodes, Hyperparams]:
    """The component options of one combination of choices, their settings before `hyperparams`, and what that says."""
    benchmark = options.option("benchmark", asked["benchmark"])
    parts: dict[str, Option] = {}
    for group, declared in COMPONENTS.items():
        chosen = [_component(options, group, name, benchmark) for name in declared.names_in(asked[group])]
        parts |= addressed(group, chosen)
    _check_learns(options, parts["agent"], benchmark)
    for part in parts.values():
        _check_provided(options, parts["agent"], part)
    rules = {group: _rule(options, options.option(group, asked[group]), adjusted) for group in RULES}
    return parts, before_hyperparams(parts, rules["schedule"], rules["protocol"]), rules["hyperparams"]


def _rule(options: Options, rule: Option, values: Mapping[str, Any]) -> Any:
    """What a rule says, with what the command sets in it.  Raises ConfigError where that means nothing to it."""
    own = {key.partition(".")[2]: value for key, value in values.items() if key.startswith(f"{rule.group}.")}
    for name in own:
        needed = ADJUSTABLE[f"{rule.group}.{name}"]
        if getattr(rule.extras, needed) is None:
            others = (options.option(rule.group, other) for other in options.vocabulary.options[rule.group])
            has = " or ".join(other.name for other in others if getattr(other.extras, needed) is not None)
            raise ConfigError(f"{rule.group}={rule.name} has no setting '{name}'; {rule.group}={has} has.")
    return checked(RULES[rule.group], {**dict(rule.extras), **own}, f"{rule.group}.") if own else rule.extras


def _component(options: Options, group: str, name: str, benchmark: Option) -> Option:
    if group in AUTO and name == "auto":
        name = getattr(benchmark.extras, AUTO[group])
        if name is None:
            raise ConfigError(f"{group}=auto: benchmark={benchmark.name} has no {AUTO[group]}; name the {group}.")
    option = options.option(group, name)
    if option.target is None:
        raise ConfigError(f"{group}={name} has no _target_; its file must name the class it stands for.")
    base = COMPONENTS[group].base
    if not issubclass(component.load(option.target), component.load(base)):
        raise ConfigError(f"{group}={name}: '{option.target}' is no {group}; its class must be derived from {base}.")
    return option


def _class_of(agent: Option) -> "type[Agent]":
    from plasticity_lab.agents.agent import Agent  # torch: --help need not wait for it

    return component.load_as(agent.target, Agent)


def _check_learns(options: Options, agent: Option, benchmark: Option) -> None:
    """Raises ConfigError where the agent learns another kind of benchmark, with those that learn this one."""
    from plasticity_lab.benchmarks.benchmark import Benchmark

    learns, kind = _class_of(agent).learns, component.load_as(benchmark.target, Benchmark)
    if issubclass(kind, learns):
        return
    own = getattr(benchmark.extras, AUTO["agent"])
    if own is not None:
        right = f"agent=auto takes the benchmark's own ({own})"
    else:
        others = [options.option("agent", name) for name in options.vocabulary.options["agent"]]
        able = [each.name for each in others if each.target and issubclass(kind, _class_of(each).learns)]
        right = f"agent={' or '.join(able)} learns them" if able else "no agent here learns them"
    raise ConfigError(
        f"agent={agent.name} learns {learns.tasks_are}, and the tasks of benchmark={benchmark.name} are "
        f"{kind.tasks_are}; {right}."
    )


def _check_provided(options: Options, agent: Option, part: Option) -> None:
    """Raises ConfigError where the agent does not provide all that an option requires, with the agents that do."""
    requires = getattr(component.load(part.target), "requires", frozenset())
    missing = sorted(requires - _class_of(agent).provides)
    if not missing:
        return
    others = [options.option("agent", name) for name in options.vocabulary.options["agent"]]
    able = [each.name for each in others if each.target and requires <= _class_of(each).provides]
    right = f"agent={' or '.join(able)} does" if able else "no agent here does"
    raise ConfigError(
        f"{part.group}={part.name} requires of its agent {' and '.join(missing)}, and agent={agent.name} does not "
        f"provide it (`provides` of its class); {right}."
    )
