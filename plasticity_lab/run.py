"""A run, from the command that requests it to its record."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, overload

from plasticity_lab.component import Component, build, load
from plasticity_lab.errors import ConfigError
from plasticity_lab.named_code import named_by_store

SEEDS = ("seed", "stream_seed", "init_seed")
ASSAY, LEARNER = "assay", "learner"
"""The group of assays; and in the run of an assay (`launch assay`) the address of the agent that trained the run which
it is about."""
JOINED = "+"
"""Joins the names of several options of one group: `intervention=[l2_init,redo]` is l2_init+redo in a record."""

Kind = TypeVar("Kind", bound=Component)


@dataclass(frozen=True)
class Run:
    """One experiment, resolved.

    id: a hash of the values that can change its numbers (see `records.identity`). science: these values by name: seeds,
    precision, and for each group a mapping of the option's `name` and its settings. If a group holds several options,
    `name` has all their names, JOINED, and each of these names has the settings of its option. targets: address → class
    of the option; an address is a group, or `<group>.<option>` for each of several options. asked_as: the names of its
    request (experiment, protocol, schedule, …), one mapping for each command. besides: group → mapping as in science,
    for groups that do not change the run's other numbers.
    """

    id: str
    science: Mapping[str, Any]
    targets: Mapping[str, str]
    asked_as: Sequence[Mapping[str, Any]] = ()
    besides: Mapping[str, Any] = field(default_factory=dict)

    @overload
    def component(self, group: str) -> Component: ...

    @overload
    def component(self, group: str, kind: type[Kind]) -> Kind: ...

    def component(self, group: str, kind: type[Component] = Component) -> Component:
        """The component of a group's option; several are composed (see `Component.composed`).

        kind: its required class. Raises ConfigError, also if the run is older than the group.
        """
        addresses = self.addresses(group)
        if not addresses:
            raise ConfigError(f"Run {self.id} has no {group}; the group is newer than the run.")
        found = self._built(addresses[0])
        if addresses != [group]:
            found = found.composed({option_of(address): self._built(address) for address in addresses})
        if not isinstance(found, kind):
            raise ConfigError(f"{group}={self.name(group)} is a {type(found).__name__}, and no {kind.__name__}.")
        return found

    def addresses(self, group: str) -> list[str]:
        """The addresses of a group's options: the group, or `<group>.<option>` for each of several."""
        return [address for address in self.targets if group_of(address) == group]

    def name(self, address: str) -> str:
        """The name of the option at an address, or the JOINED names of a group's options."""
        return option_of(address) or self._choice(address)["name"]

    def settings(self, address: str) -> dict[str, Any]:
        """The settings of the option at an address."""
        found = self._choice(address)
        found = found[option_of(address)] if option_of(address) else found
        return {key: value for key, value in found.items() if key != "name"}

    @property
    def is_of_assay(self) -> bool:
        """Whether it tries an assay on another run."""
        return LEARNER in self.targets

    @property
    def trained_by(self) -> Mapping[str, str]:
        """The targets that can change its numbers."""
        return training_targets(self.targets, self.besides) if self.besides else self.targets

    def with_option(self, address: str, name: str, target: str, settings: Mapping[str, Any]) -> "Run":
        """The same run, with this single option in the address's group."""
        group = group_of(address)
        targets = {
            group if group_of(each) == group else each: target if group_of(each) == group else own
            for each, own in self.targets.items()
        }
        choice = {"name": name, **settings}
        if group in self.besides:
            return replace(self, targets=targets, besides={**self.besides, group: choice})
        return replace(self, targets=targets, science={**self.science, group: choice})

    def seed_of(self, kind: str) -> int:
        """Its stream_seed (tasks, order) or init_seed (weights, noise); both default to its seed."""
        own = self.science.get(kind)
        return self.science["seed"] if own is None else own

    def structure(self, without: Collection[str] = ()) -> str:
        """The settings that must agree within a pack, as JSON: all but seeds and settings on the run axis.

        without: groups to leave out.
        """
        everything = {**self.science, **self.besides}
        structure = {key: value for key, value in everything.items() if key not in SEEDS and key not in without}
        targets = {address: of for address, of in self.targets.items() if group_of(address) not in without}
        for address, target in targets.items():
            own, group, option = load(target).run_axis_settings(), group_of(address), option_of(address)
            settings = structure[group][option] if option else structure[group]
            alike = {key: value for key, value in settings.items() if key not in own}
            structure[group] = {**structure[group], option: alike} if option else alike
        return json.dumps([structure, targets], sort_keys=True)  # settings are typed, so equal ones have equal JSON

    def asked_also(self, names: Iterable[Mapping[str, Any]]) -> "Run":
        """The same run with the names that it does not have yet."""
        new = [dict(name) for name in names if name not in self.asked_as]
        return replace(self, asked_as=[*self.asked_as, *new]) if new else self

    def as_json(self) -> dict[str, Any]:
        """The run as a mapping, which `from_json` reads."""
        return {
            "id": self.id,
            "science": self.science,
            "targets": self.targets,
            "asked_as": list(self.asked_as),
            **({"besides": self.besides} if self.besides else {}),
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> "Run":
        """The run in a mapping of `as_json`, which a store holds.  Raises KeyError, TypeError for an invalid one."""
        named_by_store(value["targets"].values())
        return Run(value["id"], value["science"], value["targets"], value["asked_as"], value.get("besides", {}))

    def _choice(self, address: str) -> Mapping[str, Any]:
        group = group_of(address)
        return self.besides[group] if group in self.besides else self.science[group]

    def _built(self, address: str) -> Component:
        return build(group_of(address), self.name(address), self.targets[address], self.settings(address))


def training_targets(targets: Mapping[str, str], besides: Collection[str]) -> dict[str, str]:
    """The targets of groups that are not in `besides`."""
    return {address: target for address, target in targets.items() if group_of(address) not in besides}


def group_of(address: str) -> str:
    """The group of an address: intervention for intervention.redo."""
    return address.partition(".")[0]


def option_of(address: str) -> str:
    """The option of an address: redo for intervention.redo; empty if the group holds a single option."""
    return address.partition(".")[2]
