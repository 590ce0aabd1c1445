"""What a diagnostic is shown of a pack while it learns.

Legend: K runs, B examples, D numbers of an example, O numbers of an output, * the shape of one example at a unit.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Unit
from plasticity_lab.networks.units import taking_part

Tensors = Mapping[str, Tensor]
Losses = Callable[[Tensors, Tensors], Tensor]
"""(parameters, batch) → the loss of each example alone, (K, B)."""
HeldOut = Callable[[int], Iterable[tuple[Tensor, Tensor]]]
"""At most that many of a task's held-out examples, evenly spread over them, some at a time: inputs as floats (K, B, D)
and labels (K, B). B is a multiple of 4."""
OBSERVED = "how the network stands"
"""What an agent provides to diagnostics at all (`Agent.provides`): a view with a probe and a loss."""
HELD_OUT = "a task's held-out examples"
"""What a diagnostic that looks at them requires of the agent (`Diagnostic.requires`)."""


Kept = TypeVar("Kept")


class Passed(NamedTuple):
    """A forward pass: outputs, name → (K, B, O); by unit name what the activation was given, and gave, (K, B, *)."""

    outputs: Tensors
    before: Tensors
    hidden: Tensors


@dataclass(frozen=True)
class View:
    """A pack as it stands. Only `state` may be changed.

    model: the network's functions, its layers and units. parameters: those that are active, (K, ...). settings: on
    the run axis, part ("activation", "agent", …) → name → (K,). seeds: the runs' init_seeds, for random numbers of
    a diagnostic's own: `host_stream(seed, purpose, view.task)`. losses_of: the agent's loss, example by example, as
    a function that can be differentiated twice. probe: a fixed batch as the loss takes it, "x" (K, B, D) and what
    else it reads; all rows count alike, and B is a multiple of 4. Empty before an agent that acts has seen
    anything. held_out: of the task, where the agent has such examples. factor: (), by which pre-activations are
    multiplied in the epoch that has ended; None where nothing perturbs it. body: the active one, None where there
    is one alone. task: position of the one that is learned. epoch: the one that has ended, counted through the run
    from 0; None at the start and where a task has ended. state: what the diagnostic's `start` returned, (K, ...) by
    name; it is checkpointed as it is. found: what `once` has made, which all diagnostics share that look at the
    same moment.
    """

    model: Model
    parameters: Tensors
    settings: Mapping[str, Tensors]
    seeds: Sequence[int]
    losses_of: Losses
    probe: Tensors = field(default_factory=dict)
    held_out: HeldOut | None = None
    factor: Tensor | None = None
    body: str | None = None
    task: int = 0
    epoch: int | None = None
    state: Tensors = field(default_factory=dict)
    found: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def units(self) -> list[Unit]:
        """The model's units but those of idle bodies."""
        return [unit for unit in self.model.units if taking_part(unit, self.parameters)]

    def forward(self, x_KBD: Tensor | None = None) -> Passed:
        """The network's values in evaluation mode, on the probe if nothing else is given.  B: a multiple of 4."""
        if x_KBD is None:
            return self.once("forward", lambda: self.forward(self.probe["x"]))
        before: dict[str, Tensor] = {}
        outputs, hidden = self.model.forward(
            self.parameters, self.settings["activation"], x_KBD, None, self.body, before=before, factor=self.factor
        )
        return Passed(outputs, before, hidden)

    def once(self, key: Any, make: Callable[[], Kept]) -> Kept:
        """What `make` returns, made once for all diagnostics that look at these parameters at this moment.

        key: what it is called, another one for what depends on a setting. Whoever takes it must leave it as it is.
        """
        # Kept with what it was made of: a view of other parameters, or of another probe, must not be given it.
        made_of = (self.parameters, self.probe)
        known = self.found.get(key)
        if known is None or any(ours is not theirs for ours, theirs in zip(made_of, known[0], strict=True)):
            known = self.found[key] = (made_of, make())
        return known[1]

    def losses(self, parameters: Tensors | None = None) -> Tensor:
        """The loss of each of the probe's examples alone, (K, B), by these parameters or the pack's own."""
        batch = self.probe if self.factor is None else {**self.probe, "factor": self.factor}
        return self.losses_of(self.parameters if parameters is None else parameters, batch)

    def loss(self, parameters: Tensors | None = None) -> Tensor:
        """The mean of `losses` for each run, (K,). Summed over the runs, it leaves each its own gradient."""
        # Run by run: how torch adds up a mean may depend on how many of them it is asked for.
        return torch.stack([losses.mean() for losses in self.losses(parameters).unbind()])
