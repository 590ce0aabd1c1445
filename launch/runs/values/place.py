"""The question to a choice of `hyperparams`, and its answer: shape parameters and learning rates."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from launch.runs.groups import Extras, Hyperparams
from launch.runs.options import Option
from launch.runs.precedence import Nodes

Values = Mapping[str, Mapping[str, Any]]
"""Group → setting → value."""
AnyExtras = TypeVar("AnyExtras", bound=Extras)


@dataclass(frozen=True)
class Combination:
    """One combination of choices that needs values.

    rule: the content of the option of `hyperparams`. parts: address → the option chosen (see `Run.targets`). nodes:
    address → its settings, with the values from the experiment and the command line. pinned: the dotted names of the
    settings with such a value; no source replaces it.
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
    """Values for one run of a place, and a remark for its record about their source."""

    values: Values
    asked: Mapping[str, Any] = field(default_factory=dict)


class Source(Protocol):
    """A choice of `hyperparams`, for all places of one command."""

    def found(self, place: Combination) -> Iterable[FoundValues]:
        """The values for a place, one or more, without pinned settings.  Raises ConfigError."""
        ...

    def notes(self) -> list[str]:
        """Lines about all places.  Raises ConfigError for a mistake that is known only after the last place."""
        ...


def extras_of(option: Option, kind: type[AnyExtras]) -> AnyExtras:
    """The content of an option's file in addition to settings.  Raises TypeError for an option of another group."""
    if not isinstance(option.extras, kind):
        raise TypeError(f"{option.group}={option.name} has {type(option.extras).__name__} in addition to its settings.")
    return option.extras


def unpinned(values: Values, place: Combination) -> dict[str, dict[str, Any]]:
    """The values of settings that neither the experiment nor the command line sets."""
    free = {}
    for group, settings in values.items():
        free[group] = {name: value for name, value in settings.items() if f"{group}.{name}" not in place.pinned}
    return free


def put(values: Values, nodes: Nodes) -> Nodes:
    """The nodes with the values in them."""
    return {group: {**settings, **values.get(group, {})} for group, settings in nodes.items()}
