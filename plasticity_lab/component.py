"""The base class of all options in conf/: the parameters of its constructor are the settings of one option."""

import dataclasses
import functools
import importlib
import inspect
import operator
import sys
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

from plasticity_lab.errors import ConfigError
from plasticity_lab.named_code import refusal
from plasticity_lab.others import Others

MOVED = {
    "plasticity_lab.agents.value.agent.DQN": "plasticity_lab.agents.value.agent.ValueAgent",
    "plasticity_lab.agents.supervised.Supervised": "plasticity_lab.agents.supervised.agent.Supervised",
} | {
    f"plasticity_lab.benchmarks.{name}": f"plasticity_lab.benchmarks.labelled.{name}"
    for name in (
        "alternating_classes.AlternatingClasses",
        "permuted_pixels.PermutedPixels",
        "random_labels.RandomLabels",
    )
}
"""Old import path → new one, for moved classes: old records and plans name the old one."""
TOO_LARGE = 2**63
"""No tensor holds a whole number as large as this one."""


class Chosen(NamedTuple):
    """A choice of a run: its class and its settings."""

    kind: type["Component"]
    settings: Mapping[str, Any]


class Component:
    """A choice of a config group: an activation, a benchmark, a network, an optimizer, an intervention, an agent.

    Its constructor takes the settings, annotated with plain types, and raises ConfigError for a value out of range.
    """

    named_values: ClassVar[Mapping[str, Mapping[str, Sequence[Any]]]] = {}
    """Setting → word → its values. A command with the word gets one run per value; a list with the word contains
    them."""

    neutral: ClassVar[Mapping[str, Any]] = {}
    """Setting → a value. The run id leaves out a setting with this value, so a setting added later changes no id."""

    science_version: ClassVar[int] = 1
    """Increased only if the same settings give other numbers than before; for some settings see `version_beside`."""

    read_if: ClassVar[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {}
    """Setting → another setting, and a function: whether a value of that one lets this setting be read. A command
    reports a setting without effect. Settings that are always read are absent."""

    capped: ClassVar[frozenset[str]] = frozenset()
    """Settings that a schedule caps if it names them: lengths, and settings such as a warm-up, which takes time. A
    schedule caps every setting of a benchmark that it names, also without this list."""

    floats_on_run_axis: ClassVar[bool] = False
    """Whether settings annotated `float` are numbers on the run axis. False for a component that is built once for all
    runs of a pack: a benchmark or a network."""

    objects_to: ClassVar[frozenset[str]] = frozenset()
    """The config groups that its `objection` reads, in addition to the groups that its base classes name."""

    @classmethod
    def canonical(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings as they enter the run id: equivalent settings become equal here."""
        return {key: value for key, value in settings.items() if key not in cls.neutral or value != cls.neutral[key]}

    @classmethod
    def version_beside(cls, settings: Mapping[str, Any], others: Mapping[str, Chosen]) -> int:
        """The `science_version` of these settings in a run with these other choices, by address (see `Run.targets`).

        A class overrides this if only some settings or combinations give other numbers than before. All other runs keep
        their ids. The run id leaves 1 out.
        """
        return cls.science_version

    @classmethod
    def run_axis_settings(cls) -> list[str]:
        """The settings that may differ between the runs of a pack; all others are structure, equal within a pack."""
        return real_settings(cls) if cls.floats_on_run_axis else []

    @classmethod
    def composed(cls, members: Mapping[str, "Component"]) -> "Component":
        """One component made of several options of the group.  members: name → option, in their order.

        The base class of a group with several options (`several` in conf/groups.yaml) overrides it. Raises ConfigError
        otherwise.
        """
        raise ConfigError(f"{' and '.join(members)} cannot be chosen together: their class says nothing of that.")

    def objection(self, others: Others) -> str | None:
        """The reason why this component does not go with others of its run; None if it does. Asked before planning.

        The words end the sentence "intervention=x does not go with optimizer=y: <words>.", with the options read.
        """
        return None

    def on_run_axis(self) -> dict[str, float]:
        """The numbers that a pack stores for each of its runs, by name; by default all `run_axis_settings`."""
        return {name: getattr(self, name) for name in self.run_axis_settings()}


Kind = TypeVar("Kind", bound=Component)


def setting(
    default: Any,
    *,
    neutral: bool = False,
    capped: bool = False,
    read_if: tuple[str, Callable[[Any], bool]] | None = None,
    **limits: Any,
) -> Any:
    """A setting of a class `with_settings`.

    neutral: whether the run id leaves it out at its default. capped, read_if: see `Component`. limits: arguments of
    `check`.
    """
    return dataclasses.field(default=default, metadata={
        "neutral": neutral, "capped": capped, "read_if": read_if, "limits": limits})  # fmt: skip


@typing.dataclass_transform(kw_only_default=True, field_specifiers=(setting,))
def with_settings(cls: type[Kind]) -> type[Kind]:
    """A component as a keyword-only dataclass; each setting declares type, default, limits and use in one place.

    Its `__post_init__` calls `check_limits`. `neutral`, `capped` and `read_if` follow from the settings.
    """
    made: Any = dataclasses.dataclass(eq=False, kw_only=True)(cls)
    declared = dataclasses.fields(made)
    made.neutral = {**cls.neutral, **{each.name: each.default for each in declared if each.metadata.get("neutral")}}
    made.capped = cls.capped.union(each.name for each in declared if each.metadata.get("capped"))
    made.read_if = {
        **cls.read_if, **{each.name: each.metadata["read_if"] for each in declared if each.metadata.get("read_if")}
    }  # fmt: skip
    return made


def check_limits(component: Any, group: str) -> None:
    """Raises ConfigError for the first setting of a component `with_settings` that is out of its limits."""
    for each in dataclasses.fields(component):
        check(f"{group}.{each.name}", getattr(component, each.name), **each.metadata.get("limits", {}))


@functools.cache
def load(target: str) -> type[Component]:
    """The class that a `_target_` names.  Raises ConfigError if it does not exist, or may not be imported."""
    target = MOVED.get(target, target)
    module, _, name = target.rpartition(".")
    if why := refusal(target):
        raise ConfigError(f"_target_ '{target}': {why}.")
    try:
        found = getattr(importlib.import_module(module), name)
    except Exception as error:  # a user's module can raise anything
        raise ConfigError(f"_target_ '{target}' names no class that can be imported ({error}).") from error
    if not (isinstance(found, type) and issubclass(found, Component)):
        raise ConfigError(f"_target_ '{target}' is not a class derived from plasticity_lab.component.Component.")
    return found


def load_as(target: str | None, kind: type[Kind]) -> type[Kind]:
    """The class that a `_target_` names, which must be derived from a kind.  Raises ConfigError if it is not."""
    found = load(target or "")
    if not issubclass(found, kind):
        raise ConfigError(f"_target_ '{target}' is not a class derived from {kind.__module__}.{kind.__qualname__}.")
    return found


@functools.cache
def parameters(cls: type[Component]) -> dict[str, inspect.Parameter]:
    """The settings of a component, in the order of records and of run names: the order of its constructor.

    For keyword-only dataclasses a base class would decide that order. Their settings without a default come first, then
    the settings that the class declares, then inherited ones.
    """
    found = dict(inspect.signature(cls).parameters)
    constructor_of = next(each for each in cls.__mro__ if "__init__" in vars(each))
    by_keyword = any(each.kind is each.KEYWORD_ONLY for each in found.values())
    if not (by_keyword and "__dataclass_fields__" in vars(constructor_of)):
        return found
    declared = dict.fromkeys(name for each in cls.__mro__ for name in inspect.get_annotations(each))
    needed = [name for name, each in found.items() if each.default is each.empty]
    return {name: found[name] for name in [*needed, *declared] if name in found}


@functools.cache
def real_settings(cls: type[Component]) -> list[str]:
    """The settings annotated `float` and nothing else."""
    hints = typing.get_type_hints(cls.__init__)
    return [name for name in parameters(cls) if hints.get(name) is float]


def typed(cls: type[Component], group: str, choice: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with defaults, each value in its annotated type; a record stores them under `science`.

    Raises ConfigError for a setting that the choice does not have, and for a value of the wrong type.
    """
    known = parameters(cls)
    for name in settings:
        if name not in known:
            right = f"its settings are {', '.join(known)}" if known else "it has no settings"
            raise ConfigError(f"{group}={choice} has no setting '{name}'; {right}.")
    hints = typing.get_type_hints(cls.__init__)
    values = {}
    for name, parameter in known.items():
        value = settings.get(name, parameter.default)
        if value is inspect.Parameter.empty:
            raise ConfigError(f"{group}.{name} is not set, and {group}={choice} has no default for it.")
        values[name] = _coerced(f"{group}.{name}", value, hints.get(name, Any))
    return values


def build(group: str, choice: str, target: str, settings: Mapping[str, Any]) -> Component:
    """Builds the component of an option of a group.  Raises ConfigError; its message names the setting."""
    cls = load(target)
    return cls(**typed(cls, group, choice, settings))


def as_typed(value: Any) -> str:
    """A value as typed on a command line, for messages: null, true, 'a text', [1, null]; a very long one is cut."""
    if value is None or isinstance(value, bool):
        text = {None: "null", True: "true", False: "false"}[value]
    elif isinstance(value, list | tuple):
        text = f"[{', '.join(map(as_typed, value))}]"
    elif isinstance(value, Mapping):
        text = f"{{{', '.join(f'{key}: {as_typed(element)}' for key, element in value.items())}}}"
    else:
        text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"


def check(
    name: str,
    value: Any,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
    one_of: Collection[Any] | None = None,
) -> Any:
    """The value, if it is in its range.  Raises ConfigError, naming the setting and the range, if it is not."""
    if one_of is not None and value not in one_of:
        raise ConfigError(f"{name} is {as_typed(value)}; it must be one of {', '.join(map(str, one_of))}.")
    if value is None or isinstance(value, str):
        return value
    bounds = [
        ("at least", at_least, operator.ge),
        ("above", above, operator.gt),
        ("at most", at_most, operator.le),
        ("below", below, operator.lt),
    ]
    bounds = [(word, bound, holds) for word, bound, holds in bounds if bound is not None]
    if not all(holds(value, bound) for _, bound, holds in bounds):
        wanted = " and ".join(f"{word} {bound}" for word, bound, _ in bounds)
        raise ConfigError(f"{name} is {as_typed(value)}; it must be {wanted}.")
    return value


def _coerced(name: str, value: Any, annotation: Any) -> Any:
    """The value in the annotated type; int passes for float, an integral float for int, nothing else is converted."""
    allowed = typing.get_args(annotation) if _is_union(annotation) else (annotation,)
    if annotation is Any or (value is None and type(None) in allowed):
        return value
    plain = [typing.get_origin(kind) or kind for kind in allowed]
    if isinstance(value, float) and int in plain and value.is_integer():
        value = int(value)
    if isinstance(value, bool | str):
        if type(value) in plain:
            return value
    elif isinstance(value, int) and int in plain:
        if abs(value) < TOO_LARGE:
            return value
        raise ConfigError(f"{name} is {as_typed(value)}; it must be below 2^63, as whole numbers are kept in 64 bits.")
    elif isinstance(value, int | float) and float in plain:
        if abs(value) <= sys.float_info.max:  # neither infinite, nor NaN, nor a whole number too large for a float
            return float(value)
    elif isinstance(value, list | tuple) and (list in plain or tuple in plain):
        return list(value)
    words = {int: "a whole number", float: "a finite number", str: "a word", bool: "true or false", type(None): "null",
             list: "a list", tuple: "a list"}  # fmt: skip
    wanted = " or ".join(dict.fromkeys(words.get(kind, str(kind)) for kind in plain))
    several = " (several values are written one,other without brackets)" if isinstance(value, list | tuple) else ""
    if list in plain and isinstance(value, str):
        several = f", as in '{name}=[{value}]' (several lists are written '{name}=[one,other],[another]')"
    raise ConfigError(f"{name} is {as_typed(value)}; it must be {wanted}{several}.")


def _is_union(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (typing.Union, types.UnionType)
