"""Several interventions at once: `intervention=[l2_init,redo]`.

Legend: K runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import gcd

import torch
from torch import Tensor

from plasticity_lab.interventions.intervention import Intervention, Now, State, Tensors
from plasticity_lab.records.measures import Column

Members = Mapping[str, Intervention] | Mapping[str, type[Intervention]]
"""By the names of their options."""


class Composed(Intervention):
    """Interventions that work one after the other, in the order in which they were given.

    members: by the names of their options. Each is asked what it would be asked alone, and sees what those before it
    have done in the same verb; penalties are added up. Settings and state have the member's name before them:
    "redo.strength". The first draws the random numbers that it would draw alone, the others some of their own. What a
    member measures has its own name, or `<member>_<name>` where two members measure something of one name.
    """

    def __init__(self, members: Mapping[str, Intervention]) -> None:
        self.members = members
        own = list(members.values())
        self.watches_units = any(each.watches_units for each in own)
        self.requires = frozenset().union(*(each.requires for each in own))
        self.prunes = max(each.prunes for each in own)
        self.needs_experts = max(each.needs_experts for each in own)
        self.copies = sum(each.copies for each in own)
        self.restarts_agent = any(each.restarts_agent for each in own)
        self.between_tasks = all(each.between_tasks for each in own)
        periods = [each.every for each in own if each.every is not None]
        self.every = gcd(*periods) if periods else None

    def on_run_axis(self) -> dict[str, float]:
        """Those of the members."""
        return {f"{name}.{key}": of for name, each in self.members.items() for key, of in each.on_run_axis().items()}

    def takes_gradients(self) -> bool:
        """Whether a member does."""
        return any(each.takes_gradients() for each in self.members.values())

    def first_after(self) -> dict[str, int]:
        """Those of the members."""
        return {f"{name}.{key}": of for name, each in self.members.items() for key, of in each.first_after().items()}

    def start(self, now: Now) -> State:
        """The states of the members."""
        return {
            f"{name}.{key}": value
            for name, each in self.members.items()
            for key, value in each.start(self._own(now, name)).items()
        }

    def penalty(self, now: Now) -> Tensor:
        """(K,): the sum of theirs."""
        return torch.stack([each.penalty(self._own(now, name)) for name, each in self.members.items()]).sum(dim=0)

    def after_step(self, now: Now) -> State:
        """One after the other."""
        return self._in_turn(now, "after_step")

    def every_n_updates(self, now: Now) -> State:
        """Those whose number of updates it is."""
        due = [name for name, each in self.members.items() if each.every is not None and now.updates % each.every == 0]
        return self._in_turn(now, "every_n_updates", due)

    def ages(self, state: State) -> Tensors:
        """Theirs; where two say something of one parameter, the first's."""
        found: dict[str, Tensor] = {}
        for name, each in self.members.items():
            found = {**each.ages(_of(state, name)), **found}
        return found

    def moments_begun(self, state: State) -> State:
        """The states of the members."""
        return {
            f"{name}.{key}": value
            for name, each in self.members.items()
            for key, value in each.moments_begun(_of(state, name)).items()
        }

    def before_task(self, now: Now) -> State:
        """One after the other."""
        return self._in_turn(now, "before_task")

    def after_task(self, now: Now) -> State:
        """One after the other."""
        return self._in_turn(now, "after_task")

    def measured(self, state: State) -> Tensors:
        """What each has measured, by the names of `columns_of`."""
        named = {name: _measures_of(self.members, name) for name in self.members}
        return {
            named[name][key]: value
            for name, each in self.members.items()
            for key, value in each.measured(_of(state, name)).items()
        }

    def _in_turn(self, now: Now, verb: str, names: list[str] | None = None) -> State:
        state = dict(now.state)
        for name in self.members if names is None else names:
            following = getattr(self.members[name], verb)(self._own(now._replace(state=state), name))
            state |= {f"{name}.{key}": value for key, value in following.items()}
        return state

    def _own(self, now: Now, name: str) -> Now:
        """What a member sees: its own settings, state and random numbers."""
        place = list(self.members).index(name)
        keys = now.keys if now.keys is None or place == 0 else now.keys ^ place
        return now._replace(settings=_of(now.settings, name), state=_of(now.state, name), keys=keys)


def columns_of(members: Members) -> Sequence[Column]:
    """What several interventions measure of themselves, by the names that it has where they are composed."""
    return [_named(column, member, members) for member, each in members.items() for column in each.columns]


def _named(column: Column, member: str, members: Members) -> Column:
    name = _measures_of(members, member)[column.name]
    if name == column.name:
        return column
    return replace(
        column, of=name, measure=replace(column.measure, name=name, title=f"{column.measure.title} ({member})")
    )


def _of(values: Mapping[str, Tensor], member: str) -> dict[str, Tensor]:
    """A member's own values, by its own names."""
    return {name.removeprefix(f"{member}."): of for name, of in values.items() if name.startswith(f"{member}.")}


def _measures_of(members: Members, member: str) -> dict[str, str]:
    """A member's columns → what they are called beside those of the others."""
    others = {column.name for name, each in members.items() if name != member for column in each.columns}
    own = [column.name for column in members[member].columns]
    return {name: f"{member}_{name}" if name in others else name for name in own}
