"""The base class of all interventions: methods over a situation (`Now`) that return values; and several at once.

Legend: K runs, E slices.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import gcd
from typing import TypeVar

import torch
from torch import Tensor

from plasticity_lab.interventions.composed_names import column_names, named, of_member
from plasticity_lab.interventions.declared import Declared
from plasticity_lab.interventions.held import Held
from plasticity_lab.interventions.now import Now, Penalty, State, Tensors, noting
from plasticity_lab.networks.heads.head import Head
from plasticity_lab.networks.heads.moe import lacking_experts
from plasticity_lab.others import Others
from plasticity_lab.records.measures import Column

EXAMPLES = "a finished task's examples"
"""In `Intervention.requires`: it reads the examples of the task that has ended."""
TASK_BEGINS = "when a task begins"
"""In `Intervention.requires`: it has a method `before_task`."""
COMING = "the examples of a task that begins"
"""In `Intervention.requires`: its method `before_task` reads `now.coming`."""
OUTPUTS = "the outputs of a batch"
"""In `Intervention.requires`: its penalty reads outputs and activations of the batch (`watches_outputs`)."""
SECOND_BATCH = "a second batch in each update"
"""In `Intervention.requires`: its penalty reads `now.second`. Such a class requires OUTPUTS too."""
IN_UPDATES = "penalty", "after_step", "ages"  # methods that work within updates
CHANGING = "after_step", "every_n_updates", "before_task", "after_task"  # methods that may change parameters in place
Value = TypeVar("Value")


class Intervention(Declared):
    """The base class of a method that keeps a run plastic. A subclass overrides the methods that it needs.

    The defaults do nothing. The methods are called in this order:
    `start`            before the first update, returns the state
    `penalty`          in each update, a term of the loss       (compiled)
    `after_step`       in each update, after the optimizer      (compiled)
    `every_n_updates`  after every `every` updates              (not compiled)
    `after_task`       after a task was learned and evaluated   (not compiled)
    `before_task`      when the next task begins                (not compiled)

    Settings annotated `float` may differ between the runs of a pack; every method reads them from `now.settings`. The
    state is a dictionary of tensors (K, ...) with constant shapes. Checkpoints store it unchanged. Methods must not
    store values of a run in `self`. To vary an intervention, wrap it; do not override a method of another intervention.
    """

    needs_gradients: bool = False
    """Whether its `after_step` reads the gradients of the update. A class that defines `after_step` without declaring
    this is assumed to read them. If nothing reads them and there is no penalty, a kernel may consume them."""

    @classmethod
    def composed(cls, members: Mapping[str, "Intervention"]) -> "Intervention":
        """Several at once, one after the other."""
        return Composed(members)

    @classmethod
    def columns_of(cls, members: Mapping[str, type["Intervention"]]) -> Sequence[Column]:
        """The columns of several at once, by the names that they have then."""
        columns = {name: each.columns for name, each in members.items()}
        return [named(column, member, columns) for member, own in columns.items() for column in own]

    @classmethod
    def takes_gradients(cls) -> bool:
        """Whether it needs gradients: for its penalty, or because the `after_step` of this very class reads them."""
        if cls.penalty is not Intervention.penalty:
            return True
        last_word = next(each for each in cls.__mro__ if {"needs_gradients", "after_step"} & vars(each).keys())
        return vars(last_word).get("needs_gradients", True)

    def changes_parameters(self) -> bool:
        """Whether it may change parameters in place. TRAC refuses that."""
        kept = (getattr(type(self), each) is getattr(Intervention, each) for each in CHANGING)
        return not (self.leaves_parameters or all(kept))

    def objection(self, others: Others) -> str | None:
        """The head must have the experts that it works on. A subclass with its own objection asks this one too."""
        return lacking_experts(others.one("head", Head), self.needs_experts) if self.unit_kind == "expert" else None

    def held(self, now: Now) -> Held:
        """All that it does within updates, if it `holds`."""
        return Held()

    def is_held(self) -> bool:
        """Whether `held` says all that it does within updates: no method of a class below the one that defines it does
        more.
        """
        classes = [vars(each).keys() for each in type(self).__mro__]
        work = *IN_UPDATES, "held"
        first = {name: next(at for at, own in enumerate(classes) if name in own) for name in work}
        watches = self.watches_units or self.watches_outputs or self.learned or self.needs_step or self.needs_before
        return self.holds and not watches and first["held"] <= min(first.values())

    def first_after(self) -> Mapping[str, int]:
        """The setting with the updates before `every_n_updates` first acts, and its value; {} if it never does."""
        return {} if self.every is None else {"every": self.every}

    def passes(self, examples: int) -> tuple[int, int]:
        """Batches of `now.coming` that it reads before a task of that many examples, and their size; for plans."""
        return 0, 0

    def start(self, now: Now) -> State:
        """The state before the first update."""
        return {}

    def penalty(self, now: Now) -> Tensor | Penalty:
        """(K,), added to the loss of each run. A `Penalty` also has values that `after_step` reads as `now.noted`."""
        first = next(iter(now.parameters.values()))
        return torch.zeros(first.shape[0], dtype=first.dtype, device=first.device)

    def after_step(self, now: Now) -> State:
        """Called after the optimizer's step. It may change parameters and moments in place; returns the next state."""
        return now.state

    def ages(self, state: State) -> Tensors:
        """For parameters (K, E, ...) with slices reset at different times: name → (K, E), updates since the reset. The
        optimizer's corrections (Adam's bias correction) use these numbers.
        """
        return {}

    def moments_begun(self, state: State) -> State:
        """The state after all moments were reset, as an optimizer may do between tasks."""
        return state

    def every_n_updates(self, now: Now) -> State:
        """Called after every `every` updates, for rare work. It may change parameters and moments in place; returns the
        next state.
        """
        return now.state

    def before_task(self, now: Now) -> State:
        """Called when a task begins, except for the first one. It may change parameters and moments in place. A run
        that resumes there calls it again, so the result must depend only on the arguments and the task's position.
        """
        return now.state

    def measured(self, state: State) -> Tensors:
        """The present values of its `columns`, name → (K,). Called in every evaluation; it changes nothing."""
        return {}

    def after_task(self, now: Now) -> State:
        """Called when a task was learned and evaluated. It may change parameters and moments in place."""
        return now.state

    def tested(self, parameters: Tensors, state: State) -> Tensors:
        """The parameters that tests of a task use, like the network's own, which are given. It changes nothing."""
        return parameters


class Composed(Intervention):
    """Interventions that work one after the other, in the given order.

    members: by the names of their options. Each is called as it would be alone, and sees the changes of those before it
    in the same method; penalties are added up. Settings and state have the member's name as a prefix: "redo.strength".
    The first member draws the random numbers that it would draw alone, the others different ones. A column keeps its
    name, or is called `<member>_<name>` if two members have a column of that name.
    """

    def __init__(self, members: Mapping[str, Intervention]) -> None:
        self.members = members
        each = list(members.values())
        self.watches_units = any(member.watches_units for member in each)
        self.watches_outputs = any(member.watches_outputs for member in each)
        self.learned = [f"{name}.{entry}" for name, member in members.items() for entry in member.learned]
        self.requires = frozenset().union(*(member.requires for member in each))
        self.prunes = max(member.prunes for member in each)
        self.needs_experts = max(member.needs_experts for member in each)
        self.forwards = sum(member.forwards for member in each)
        self.operations = sum(member.operations for member in each)
        self.copies = sum(member.copies for member in each)
        self.numbers = sum(member.numbers for member in each)
        self.needs_step = any(member.needs_step for member in each)
        self.needs_before = any(member.needs_before for member in each)
        self.restarts_agent = any(member.restarts_agent for member in each)
        self.between_tasks = all(member.between_tasks for member in each)
        periods = [member.every for member in each if member.every is not None]
        self.every = gcd(*periods) if periods else None

    def on_run_axis(self) -> dict[str, float]:
        """The numbers of all members."""
        return self._prefixed(lambda _, member: member.on_run_axis())

    def takes_gradients(self) -> bool:
        """Whether a member does."""
        return any(member.takes_gradients() for member in self.members.values())

    def first_after(self) -> dict[str, int]:
        """The settings of all members."""
        return self._prefixed(lambda _, member: member.first_after())

    def passes(self, examples: int) -> tuple[int, int]:
        """The batches of all members, and the size of the largest."""
        batches, sizes = zip(*(member.passes(examples) for member in self.members.values()), strict=True)
        return sum(batches), max(sizes)

    def start(self, now: Now) -> State:
        """The states of all members."""
        return self._prefixed(lambda name, member: member.start(self._seen_by(name, now)))

    def penalty(self, now: Now) -> Tensor | Penalty:
        """(K,): the sum of all penalties, with the notes of all members."""
        penalties = {name: noting(member.penalty(self._seen_by(name, now))) for name, member in self.members.items()}
        total = torch.stack([each.total for each in penalties.values()]).sum(dim=0)
        noted = self._prefixed(lambda name, _: penalties[name].noted)
        return Penalty(total, noted) if noted else total

    def after_step(self, now: Now) -> State:
        """One after the other."""
        return self._in_turn(now, "after_step", self.members)

    def every_n_updates(self, now: Now) -> State:
        """Calls the members with an `every` that divides the number of updates."""
        periods = {name: member.every for name, member in self.members.items() if member.every is not None}
        return self._in_turn(now, "every_n_updates", [name for name, n in periods.items() if now.updates % n == 0])

    def ages(self, state: State) -> Tensors:
        """The ages of all members. If two members name the same parameter, the first member's ages are used."""
        each = [member.ages(of_member(state, name)) for name, member in self.members.items()]
        return {name: age for ages in reversed(each) for name, age in ages.items()}

    def moments_begun(self, state: State) -> State:
        """The states of all members."""
        return self._prefixed(lambda name, member: member.moments_begun(of_member(state, name)))

    def before_task(self, now: Now) -> State:
        """One after the other."""
        return self._in_turn(now, "before_task", self.members)

    def after_task(self, now: Now) -> State:
        """One after the other."""
        return self._in_turn(now, "after_task", self.members)

    def tested(self, parameters: Tensors, state: State) -> Tensors:
        """The parameters of the last member that asks for others than the network's."""
        for name, member in self.members.items():
            parameters = member.tested(parameters, of_member(state, name))
        return parameters

    def measured(self, state: State) -> Tensors:
        """The values of all members, by the names of `columns_of`."""
        columns = {name: member.columns for name, member in self.members.items()}
        return {
            column_names(columns, name)[key]: value
            for name, member in self.members.items()
            for key, value in member.measured(of_member(state, name)).items()
        }

    def _prefixed(self, of: Callable[[str, Intervention], Mapping[str, Value]]) -> dict[str, Value]:
        """The results of a function for each member, with the member's name before each key."""
        return {
            f"{name}.{key}": value for name, member in self.members.items() for key, value in of(name, member).items()
        }

    def _in_turn(self, now: Now, method: str, names: Iterable[str]) -> State:
        state = dict(now.state)
        for name in names:
            following = getattr(self.members[name], method)(self._seen_by(name, now._replace(state=state)))
            state |= {f"{name}.{key}": value for key, value in following.items()}
        return state

    def _seen_by(self, name: str, now: Now) -> Now:
        """The situation for a member: with its own settings, state and random numbers."""
        place = list(self.members).index(name)
        keys = now.keys if now.keys is None or place == 0 else now.keys ^ place
        settings, state, noted = (of_member(values, name) for values in (now.settings, now.state, now.noted))
        return now._replace(settings=settings, state=state, noted=noted, keys=keys)
