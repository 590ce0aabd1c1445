"""A command's questions to the classes of its options, before anything is trained; see `answers`.

Each function imports the class only if no earlier command asked the same. Each raises ConfigError as `component.load`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from launch.runs.answers import answer
from launch.runs.groups import COMPONENTS
from plasticity_lab import component
from plasticity_lab.component import Chosen, Component
from plasticity_lab.errors import ConfigError
from plasticity_lab.others import Others
from plasticity_lab.run import group_of

Option = tuple[str, Mapping[str, Any]]
"""A class, and the settings given to it with the option's `name`."""
_ALWAYS: Any = getattr(Component.version_beside, "__func__", None)
"""The method of classes with one version for all settings."""


def settings_of(target: str | None) -> list[str]:
    """The settings that a class takes, in their order."""
    target = target or ""
    return answer("settings", [target], None, lambda: list(component.parameters(component.load(target))))


def defaults_of(target: str | None) -> dict[str, Any]:
    """The settings that have a default in the class's constructor, with it."""
    target = target or ""

    def ask() -> dict[str, Any]:
        known = component.parameters(component.load(target)).items()
        return {name: parameter.default for name, parameter in known if parameter.default is not parameter.empty}

    return answer("defaults", [target], None, ask)


def is_derived(target: str, base: str) -> bool:
    """Whether a class is derived from another one."""
    return answer("derived", [target, base], None, lambda: issubclass(component.load(target), component.load(base)))


def capped_of(target: str | None) -> list[str]:
    """The settings that a schedule caps (see `Component.capped`)."""
    target = target or ""
    return answer("capped", [target], None, lambda: sorted(component.load(target).capped))


def named_values_of(target: str, setting: str) -> dict[str, list[Any]]:
    """Word → the values that it names in a setting (see `Component.named_values`)."""

    def ask() -> dict[str, list[Any]]:
        return {word: list(of) for word, of in component.load(target).named_values.get(setting, {}).items()}

    return answer("named values", [target], setting, ask)


def reader_of(target: str, setting: str, values: Mapping[str, Any]) -> str | None:
    """The setting that makes a class ignore another setting; None if the class reads it.

    values: the settings of the class.
    """

    def ask() -> str | None:
        needed = component.load(target).read_if.get(setting)
        return None if needed is None or needed[1](values[needed[0]]) else needed[0]

    return answer("reader", [target], [setting, values], ask)


def canonical_of(target: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as the run id sees them (see `Component.canonical`)."""
    return answer("canonical", [target], settings, lambda: component.load(target).canonical(settings))


def typed(target: str, group: str, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as science, once the class has taken them.  Raises ConfigError if it does not."""

    def ask() -> dict[str, Any]:
        component.build(group, name, target, settings)
        return component.typed(component.load(target), group, name, settings)

    return answer("typed", [target], [group, name, settings], ask)


def lacks(agent: str, other: str) -> list[str]:
    """The requirements of a class (`requires`) that the agent does not provide, sorted."""

    def ask() -> list[str]:
        provides: Any = component.load(agent)
        return sorted(getattr(component.load(other), "requires", frozenset()) - provides.provides)

    return answer("lacks", [agent, other], None, ask)


def learns(agent: str, benchmark: str) -> bool:
    """Whether an agent learns a benchmark's kind of tasks."""

    def ask() -> bool:
        from plasticity_lab.agents.agent import Agent  # torch: known answers need none

        return issubclass(component.load(benchmark), component.load_as(agent, Agent).learns)

    return answer("learns", [agent, benchmark], None, ask)


def objects_to(target: str) -> list[str]:
    """The groups with components that a class may refuse: it or a base class names them. Sorted.

    Raises ConfigError for a class with a method `objection` and no such group, or for a group that does not exist.
    """

    def ask() -> list[str]:
        cls = component.load(target)
        groups = frozenset().union(*(vars(base).get("objects_to", ()) for base in cls.__mro__))
        if not groups and cls.objection is not Component.objection:
            raise ConfigError(
                f"{target} has a method objection, which is never called: name the groups that it reads, as in "
                "objects_to = frozenset({'optimizer'})."
            )
        if unknown := sorted(groups - COMPONENTS.keys()):
            raise ConfigError(f"{target} names '{unknown[0]}' in objects_to; the groups are {', '.join(COMPONENTS)}.")
        return sorted(groups)

    return answer("objects to", [target], None, ask)


def objection(address: str, options: Mapping[str, Option]) -> tuple[str, list[str]] | None:
    """The reason why a component does not go with others, and the groups that it read; None if it does.

    options: address → option, for the component and for those that it may refuse.
    """

    def ask() -> list[Any] | None:
        components: dict[str, dict[str, Component]] = {}
        for other, option in options.items():
            if other != address:
                components.setdefault(group_of(other), {})[option[1]["name"]] = _built(group_of(other), option)
        others = Others(components)
        why = _built(group_of(address), options[address]).objection(others)
        return None if why is None else [why, others.read]

    settings = {part: of_part for part, (_, of_part) in options.items()}
    reason = answer("objection", [target for target, _ in options.values()], [address, settings], ask)
    return None if reason is None else (reason[0], reason[1])


DESIGN = ("agent", "benchmark", "network", "head", "activation")
"""The groups that decide the shapes of the networks."""


def run_axis_of(target: str) -> list[str]:
    """The settings that may differ within a pack (see `Component.run_axis_settings`)."""
    return answer("run axis", [target], None, lambda: list(component.load(target).run_axis_settings()))


def structure_of(option: Option) -> dict[str, Any]:
    """The settings of an option that are equal within a pack."""
    target, settings = option
    on_axis = run_axis_of(target)
    return {key: of for key, of in settings.items() if key not in on_axis}


def no_network(options: Mapping[str, Option]) -> str | None:
    """The sentence that refuses networks of these shapes; None if they can be built, or if this is not known yet.

    options: the options of the groups DESIGN. Only their structure counts.
    """

    def ask() -> str | None:
        from plasticity_lab.agents.parts import Parts  # torch: known answers need none

        built: dict[str, Any] = {group: _built(group, option) for group, option in options.items()}
        parts = Parts[Any]({group: [of] for group, of in built.items()}, [0], [0], "")
        try:
            built["agent"].model(parts, _outline(built["benchmark"]))
        except ConfigError as error:
            return str(error)
        except Exception:  # files that are missing, or a user's class: planning names the fault
            return None
        return None

    structure = {group: structure_of(option) for group, option in options.items()}
    return answer("no network", [target for target, _ in options.values()], structure, ask)


def data_subfolder_of(benchmark: Option) -> str:
    """The subfolder of the folder of data sets that has the files of a benchmark; "" if it needs none."""

    def ask() -> str:
        built: Any = _built("benchmark", benchmark)
        return built.data_subfolder()

    return answer("data subfolder", [benchmark[0]], benchmark[1], ask)


def remarks_of(perturbation: Option, benchmark: Option) -> list[str]:
    """The remarks of a perturbation on a benchmark's tasks."""

    def ask() -> list[str]:
        built: Any = _built("perturbation", perturbation)
        if not built.perturbs:
            return []
        tasks: Any = _built("benchmark", benchmark)
        return list(built.remarks(benchmark[1]["name"], tasks.epochs_of(0)))

    return answer("remarks", [perturbation[0], benchmark[0]], [perturbation[1], benchmark[1]], ask)


def version_of(address: str, chosen: Mapping[str, Option]) -> int:
    """The `science_version` of the class at an address of a run (see `Component.version_beside`)."""
    target, settings = chosen[address]

    def always() -> int | None:
        cls = component.load(target)
        by_settings = getattr(cls.version_beside, "__func__", None) is not _ALWAYS
        return None if by_settings else cls.science_version

    version = answer("version", [target], None, always)
    if version is not None:
        return version

    def ask() -> int:
        others = {part: Chosen(component.load(of), of_part) for part, (of, of_part) in chosen.items()}
        return component.load(target).version_beside(settings, others)

    classes = [target, *(of for of, _ in chosen.values())]
    return answer("version beside", classes, [address, {part: of_part for part, (_, of_part) in chosen.items()}], ask)


_without_files: dict[tuple[str, str], Any] = {}
"""Kind of tasks and source → the resource, for benchmarks with a resource that needs no files."""


def _outline(benchmark: Any) -> Any:
    """A benchmark's resource, or one of the same shape."""
    outline = benchmark.outline()
    if outline is not None:
        return outline
    key = benchmark.tasks_are, benchmark.source
    if key not in _without_files:
        _without_files[key] = benchmark.resource(Path())
    return _without_files[key]


def _built(group: str, option: Option) -> Component:
    target, settings = option
    return component.build(group, settings["name"], target, {key: of for key, of in settings.items() if key != "name"})
