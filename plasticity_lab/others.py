"""The other components of a run, as one component's `objection` reads them before anything is queued."""

from collections.abc import Mapping
from typing import Any, TypeVar

from plasticity_lab.errors import ConfigError

Kind = TypeVar("Kind")


class Others:
    """The components of the groups that a class names in `objects_to`, without the component that asks.

    components: group → name of the option → its component, with its settings. A group may have several options.
    """

    def __init__(self, components: Mapping[str, Mapping[str, Any]]) -> None:
        self._components = components
        self._read: dict[str, None] = {}

    def __contains__(self, group: object) -> bool:
        """Whether the run has a component of that group; a run from before the group was added has none."""
        return group in self._components

    def one(self, group: str, kind: type[Kind]) -> Kind:
        """The component of a group; several options are composed (see `Component.composed`).

        Raises ConfigError if the group has none, or if it is of another kind.
        """
        members = self._members(group)
        first = next(iter(members.values()))
        return _checked(group, first if len(members) == 1 else first.composed(members), kind)

    def each(self, group: str, kind: type[Kind]) -> list[Kind]:
        """The components of a group, one for each of its options.  Raises ConfigError as `one`."""
        return [_checked(group, member, kind) for member in self._members(group).values()]

    @property
    def read(self) -> list[str]:
        """The groups read so far; the sentence of a refusal names their options."""
        return list(self._read)

    def _members(self, group: str) -> Mapping[str, Any]:
        if group not in self._components:
            raise ConfigError(
                f"An objection reads the {group}, and `objects_to` of its class does not name that group."
            )
        self._read[group] = None
        return self._components[group]


def _checked(group: str, component: Any, kind: type[Kind]) -> Kind:
    if not isinstance(component, kind):
        raise ConfigError(f"{group} is a {type(component).__name__} here, and no {kind.__name__}.")
    return component
