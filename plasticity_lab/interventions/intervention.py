"""What an intervention is: verbs over a named situation, `Now`, that return values.

Legend: K runs, B examples, * the shape of one example at a unit.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from plasticity_lab.component import Component
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Unit
from plasticity_lab.networks.units import taking_part
from plasticity_lab.records.measures import Column

Tensors = Mapping[str, Tensor]
State = dict[str, Tensor]
Examples = Callable[[int], Iterable[tuple[Tensor, Tensor]]]
"""At most that many of the finished task's examples, evenly spread over them, some at a time: inputs as floats
(K, B, D), and what was answered: labels (K, B), or actions (K, B) or (K, B, A)."""
LogLikelihood = Callable[[Tensors, Tensor], Tensor]
"""A network's outputs, name → (K, B, O), and answers → how likely it finds these, as logarithms, (K, B)."""
EXAMPLES = "a finished task's examples"
"""What the agent must provide to an intervention that looks at them (`Intervention.requires`)."""
TASK_BEGINS = "when a task begins"
"""What the agent must provide to an intervention with a verb `before_task` (`Intervention.requires`)."""


class Now(NamedTuple):
    """What an intervention sees. What a verb is not given stands at its default.

    model: the network's functions, its layers and units. parameters, moments: those that are active, (K, ...), moments
    by their kind; only these may be changed. settings: its own on the run axis, name → (K,). state: its own.
    keys (K, 2), count (): for random numbers inside a compiled update, `uniforms(now.keys, now.count, n)`. updates: as
    count, a plain number, outside of it; never begun anew, unlike the optimizer's. seeds: the runs' init_seeds, for
    random numbers outside: `host_stream(seed, purpose, now.updates)`. gradients: of the update. hidden: its
    activations, unit → (K, B, *), if the intervention watches units. weights (B,): of the batch's rows in a mean over
    its examples, 0 where a row only fills up the batch; None: all rows count alike. task: position of the one that
    begins or has ended; examples, log_likelihood: of the one that has, if provided. activation: its settings on
    the run axis, name → (K,); body: the active one, None where there is one alone: what `Model.forward` is given.
    targets: outside of an update, the parameters of networks that follow this one, as `parameters`; they may be changed
    in place too, and follow at their own time where they are not.
    """

    model: Model
    parameters: Tensors
    settings: Tensors
    state: State
    moments: Mapping[str, Tensors] = {}
    keys: Tensor | None = None
    count: Tensor | None = None
    updates: int = 0
    seeds: Sequence[int] = ()
    gradients: Tensors = {}
    hidden: Tensors = {}
    weights: Tensor | None = None
    task: int = 0
    examples: Examples | None = None
    log_likelihood: LogLikelihood | None = None
    activation: Tensors = {}
    body: str | None = None
    targets: Sequence[Tensors] = ()

    @property
    def units(self) -> list[Unit]:
        """The model's units but those of idle bodies."""
        return [unit for unit in self.model.units if taking_part(unit, self.parameters) and not unit.is_sum]


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
        from plasticity_lab.interventions.composed import Composed  # which is an intervention itself

        return Composed(members)

    @classmethod
    def columns_of(cls, members: Mapping[str, type["Intervention"]]) -> Sequence[Column]:
        """What several at once measure of themselves, by the names that it has then."""
        from plasticity_lab.interventions.composed import columns_of

        return columns_of(members)

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
