"""One combination of choices: the options that it names, their settings, and whether the agent can use them."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from launch.runs import classes
from launch.runs.desk import Misfit
from launch.runs.groups import ADJUSTABLE, AUTO, COMPONENTS, RULES, Hyperparams
from launch.runs.options import Option, Options
from launch.runs.precedence import Nodes, addressed, before_hyperparams
from plasticity_lab import component
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.settings import checked

if TYPE_CHECKING:
    from plasticity_lab.agents.agent import Agent


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
