"""What a choice of `hyperparams` is asked, and what it answers: shape parameters and learning rates."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from launch.runs.options import Extras, Hyperparams, Option
from launch.runs.precedence import Nodes

Values = Mapping[str, Mapping[str, Any]]
"""Group → setting → value."""
AnyExtras = TypeVar("AnyExtras", bound=Extras)


@dataclass(frozen=True)
class Combination:
    """One combination of choices for which values are wanted.

    rule: what the option of `hyperparams` says. parts: address → the option chosen (see `Run.targets`). nodes: the
    settings of each, with the values that experiment and command line give. pinned: the dotted names of the settings
    that have such a value, which nothing replaces.
    """

    rule: Hyperparams
    parts: Mapping[str, Option]
    nodes: Nodes
    pinned: Collection[str]

    @property
    def activation(self) -> Option:
        """The activation chosen."""
        return self.parts["activation"]

    @property
    def benchmark(self) -> Option:
        """The benchmark chosen."""
        return self.parts["benchmark"]


@dataclass(frozen=True)
class FoundValues:
    """Values for one run of a place, and what its record is to say about where they come from."""

    values: Values
    asked: Mapping[str, Any] = field(default_factory=dict)


class Source(Protocol):
    """A choice of `hyperparams`, for all places of one command."""

    def found(self, place: Combination) -> Iterable[FoundValues]:
        """The values for a place, one or more, what is pinned left out.  Raises ConfigError."""
        ...

    def notes(self) -> list[str]:
        """What is to be said once about all places.  Raises ConfigError for what is known only after the last one."""
        ...


def extras_of(option: Option, kind: type[AnyExtras]) -> AnyExtras:
    """What an option's file holds besides settings, as its group has it.  Raises TypeError for another group."""
    if not isinstance(option.extras, kind):
        raise TypeError(f"{option.group}={option.name} has {type(option.extras).__name__} beside its settings.")
    return option.extras


def unpinned(values: Values, place: Combination) -> dict[str, dict[str, Any]]:
    """The values of settings that experiment and command line say nothing about."""
    return {
        group: {name: value for name, value in settings.items() if f"{group}.{name}" not in place.pinned}
        for group, settings in values.items()
    }


def put(values: Values, nodes: Nodes) -> Nodes:
    """The nodes with the values in them."""
    return {group: {**settings, **values.get(group, {})} for group, settings in nodes.items()}


class LearningRates:
    """Which places the learning rates of a table or a grid are for: an option of `hyperparams` names its optimizers."""

    def __init__(self) -> None:
        self._others: dict[str, str] = {}

    def are_for(self, place: Combination) -> bool:
        """Whether they are used at a place: none is typed there, and its optimizer is one they are for (none: all).

        An optimizer that they are not for is remembered for `notes`.
        """
        if "optimizer.lr" in place.pinned:
            return False
        optimizer, meant = place.parts["optimizer"].name, place.rule.optimizers
        if meant is None or optimizer in meant:
            return True
        self._others[optimizer] = " and ".join(meant)
        return False

    def notes(self) -> list[str]:
        """The optimizers that they are not for, in one line each."""
        return [
            f"hyperparams: the published learning rates are for {meant}; {optimizer} keeps its own, or what "
            "optimizer.lr says."
            for optimizer, meant in self._others.items()
        ]
