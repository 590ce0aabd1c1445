"""What an intervention is: verbs over a named situation, `Now`, that return values; and several of them at once.

Legend: K runs, E slices.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import gcd
from typing import ClassVar

import torch
from torch import Tensor

from plasticity_lab.component import Component
from plasticity_lab.interventions.now import Now, State, Tensors
from plasticity_lab.records.measures import Column

EXAMPLES = "a finished task's examples"
"""What the agent must provide to an intervention that looks at them (`Intervention.requires`)."""
TASK_BEGINS = "when a task begins"
"""What the agent must provide to an intervention with a verb `before_task` (`Intervention.requires`)."""


class Intervention(Component):
    """Verbs over explicit state; the defaults do nothing. Vary by wrapping, never by overriding another's verb.

    Settings annotated `float` may differ between the runs of a pack and reach every verb as `now.settings`; state is
    tensors (K, ...), checkpointed as they are, and its shapes never change. `penalty` and `after_step` are part of the
    update that is compiled; the others are not. `watches_units` asks the update to hand over the activations.
    """

    watches_units: bool = False

    requires: frozenset[str] = frozenset()
    """What the agent must provide beside the network (`Agent.provides`): else the two are refused together."""

    needs_gradients: bool = False
    """Whether its `after_step` reads the update's gradients. Declared beside that verb; else it is taken to read them.
    Where nobody reads them and there is no penalty, a kernel may use them up while it forms them."""

    copies: int = 1
    """How often it needs the memory of all parameters, in its state and while it works."""

    restarts_agent: bool = False
    """Whether all else that an agent has learned (moments, statistics) begins anew with each task too: the agent sees
    to it before `before_task`. What it remembers of data stays."""

    between_tasks: bool = False
    """Whether all that it does begins when a first task has ended: a run of one task is then a plain one."""

    every: int | None = None
    """After how many updates `every_n_updates` is called; None: never. Structure: equal within a pack."""

    unit_kind: ClassVar[str | None] = None
    """The kind of units (`Unit.kind`) without which it has nothing to work on: a network that has none is refused."""

    needs_experts: int = 0
    """How many experts a head must have, where it has some, for this to mean something. Structure."""

    prunes: int = 0
    """How many experts it closes; where some, routers have a number for each, by which they know. Structure."""

    columns: ClassVar[Sequence[Column]] = ()
    """What it measures of itself: columns of metrics.parquet that a task's row has, taken as a "value"."""

    floats_on_run_axis = True

    @classmethod
    def composed(cls, members: Mapping[str, "Intervention"]) -> "Intervention":
        """Several at once, one after the other."""
        return Composed(members)

    @classmethod
    def columns_of(cls, members: Mapping[str, type["Intervention"]]) -> Sequence[Column]:
        """What several at once measure of themselves, by the names that it has then."""
        return [_named(column, member, members) for member, each in members.items() for column in each.columns]

    @classmethod
    def takes_gradients(cls) -> bool:
        """Whether the update must lay out gradients for it: for its penalty, or because its `after_step` reads them.

        What a class declares of its `after_step` says nothing of a subclass's own.
        """
        if cls.penalty is not Intervention.penalty:
            return True
        last_word = next(each for each in cls.__mro__ if {"needs_gradients", "after_step"} & vars(each).keys())
        return vars(last_word).get("needs_gradients", True)

    def first_after(self) -> Mapping[str, int]:
        """The setting that says after how many updates `every_n_updates` first does something, and that number.

        Empty where that verb is never called.
        """
        return {} if self.every is None else {"every": self.every}

    def start(self, now: Now) -> State:
        """The state before the first update."""
        return {}

    def penalty(self, now: Now) -> Tensor:
        """(K,), added to each run's own loss."""
        first = next(iter(now.parameters.values()))
        return torch.zeros(first.shape[0], dtype=first.dtype, device=first.device)

    def after_step(self, now: Now) -> State:
        """Called after the optimizer; may change parameters and moments in place, and returns the next state."""
        return now.state

    def ages(self, state: State) -> Tensors:
        """Parameters whose moments do not all begin together, name → (K, E): how many updates those of each of its E
        slices, (K, E, ...), have taken. Their optimizer's corrections go by that.
        """
        return {}

    def moments_begun(self, state: State) -> State:
        """The state when all moments begin anew, as the optimizer may have them do between tasks."""
        return state

    def every_n_updates(self, now: Now) -> State:
        """Called after every `every` updates, outside of what is compiled: for rare and irregular work.

        May change parameters and moments in place, and returns the next state.
        """
        return now.state

    def before_task(self, now: Now) -> State:
        """Called when a task begins, except for a run's first one; may change parameters and moments in place.

        A run that is resumed at the beginning of a task is asked again, so let the result depend on what it is given
        and on the task's position alone.
        """
        return now.state

    def measured(self, state: State) -> Tensors:
        """The values of its `columns` by now, name → (K,).  It is asked in every evaluation, and changes nothing."""
        return {}

    def after_task(self, now: Now) -> State:
        """Called when a task has been learned and evaluated; may change parameters and moments in place."""
        return now.state


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
