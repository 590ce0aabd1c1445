"""What a run is, from the command that asks for it to the record that it leaves."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, overload

from plasticity_lab.component import Component, build, load
from plasticity_lab.errors import ConfigError
from plasticity_lab.named_code import named_by_store

SEEDS = ("seed", "stream_seed", "init_seed")
JOINED = "+"
"""Between the names of several options of one group: what `intervention=[l2_init,redo]` is called in a record."""

Kind = TypeVar("Kind", bound=Component)


@dataclass(frozen=True)
class Run:
    """One experiment, resolved.

    id: a hash of what can change its numbers (see `records.identity`). science: those values by their names: seeds,
    precision, and for each group a mapping of the option's `name` and its settings. Of a group that holds several
    options `name` has all their names, JOINED, and each of these names the settings of its option. targets: address →
    the class that the option names; an address is a group, or `<group>.<option>` of each of several options. asked_as:
    the names under which it was asked for (experiment, protocol, schedule, …), one mapping for each command. besides:
    group → as in science, of the groups that are none: what they do changes no number that the run has without them.
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
        """The component that the run's option of a group stands for; several are composed (see `Component.composed`).

        kind: what it must be. Raises ConfigError, also where the run is older than the group and has none of it.
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
        """Where the run's options of a group stand: the group alone, or `<group>.<option>` of each of several."""
        return [address for address in self.targets if group_of(address) == group]

    def name(self, address: str) -> str:
        """The name of the option at an address, or of a group's several options JOINED."""
        return option_of(address) or self._choice(address)["name"]

    def settings(self, address: str) -> dict[str, Any]:
        """The settings of the option at an address."""
        found = self._choice(address)
        found = found[option_of(address)] if option_of(address) else found
        return {key: value for key, value in found.items() if key != "name"}

    @property
    def trained_by(self) -> Mapping[str, str]:
        """The targets that can change its numbers."""
        return training_targets(self.targets, self.besides) if self.besides else self.targets

    def with_option(self, address: str, name: str, target: str, settings: Mapping[str, Any]) -> "Run":
        """The same run, of which the address's group holds this one option; of any address where it is without it."""
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
        """Its stream_seed (tasks, order) or init_seed (weights, noise); both follow its seed unless they are set."""
        own = self.science.get(kind)
        return self.science["seed"] if own is None else own

    def structure(self, without: Collection[str] = ()) -> str:
        """What must agree in one pack: everything but the seeds and what components put on the run axis.

        without: groups that are left out.
        """
        everything = {**self.science, **self.besides}
        structure = {key: value for key, value in everything.items() if key not in SEEDS and key not in without}
        targets = {address: of for address, of in self.targets.items() if group_of(address) not in without}
        for address, target in targets.items():
            own, group, option = load(target).run_axis_settings(), group_of(address), option_of(address)
            settings = structure[group][option] if option else structure[group]
            alike = {key: value for key, value in settings.items() if key not in own}
            structure[group] = {**structure[group], option: alike} if option else alike
        return json.dumps([structure, targets], sort_keys=True)  # settings are typed: equal ones are written alike

    def asked_also(self, names: Iterable[Mapping[str, Any]]) -> "Run":
        """The same run with those of the names that it does not have yet."""
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
        """A run out of such a mapping, which a store holds.  Raises KeyError, TypeError for a value that is none."""
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
    """The group of an address: intervention, of intervention.redo."""
    return address.partition(".")[0]


def option_of(address: str) -> str:
    """The option that an address names: redo, of intervention.redo; empty where the group holds one alone."""
    return address.partition(".")[2]
