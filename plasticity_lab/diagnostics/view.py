"""The view of a learning pack that diagnostics receive.

Legend: K runs, B examples, D numbers of an example, O numbers of an output, * the shape of one example at a unit.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from plasticity_lab.activations.activation import Activation
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Unit
from plasticity_lab.networks.units import taking_part

Tensors = Mapping[str, Tensor]
Losses = Callable[[Tensors, Tensors], Tensor]
"""(parameters, batch) → the loss of each example alone, (K, B)."""
HeldOut = Callable[[int], Iterable[tuple[Tensor, Tensor]]]
"""At most that many of a task's held-out examples, evenly spread over them, some at a time: inputs as floats (K, B, D)
and labels (K, B). B is a multiple of 4."""
OBSERVED = "a view of the network"
"""In `Agent.provides`: the agent gives diagnostics a view with a probe and a loss."""
HELD_OUT = "a task's held-out examples"
"""In `Diagnostic.requires`: the diagnostic reads a task's held-out examples."""


Kept = TypeVar("Kept")


class Passed(NamedTuple):
    """A forward pass. outputs: name → (K, B, O). before, hidden: input and output of the activation by unit name, (K,
    B, *).
    """

    outputs: Tensors
    before: Tensors
    hidden: Tensors


@dataclass(frozen=True)
class View:
    """The present state of a pack. Only `state` may be changed.

    model: the network's functions, its layers and units. parameters: the active ones, (K, ...). frozen: parameters that
    nothing trains (see `interventions.changing`); the passes below include them. settings: on the run
    axis, part ("activation", "agent", …) → name → (K,). seeds: the runs' init_seeds, for a diagnostic's random numbers:
    `host_stream(seed, purpose, view.task)`. losses_of: the agent's loss for each example, a function that can be
    differentiated twice. probe: a fixed batch in the form that the loss takes: "x" (K, B, D) and its other inputs. All
    rows have equal weight, and B is a multiple of 4. It is empty until an acting agent has seen data. held_out: the
    task's held-out examples, if the agent has them. factor: (), the factor on pre-activations in the epoch that has
    ended; None without a perturbation. body: the active environment; None if there is only one. task: position of the
    current task. epoch: the epoch that has ended, counted through the run from 0; None at the start and at the end of a
    task. state: the result of the diagnostic's `start`, (K, ...) by name; checkpoints store it unchanged. activations:
    activation and settings by unit name, if units have different ones. found: the results of `once`, shared by all
    diagnostics at the same moment.
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
    frozen: Tensors = field(default_factory=dict)
    activations: Mapping[str, tuple[Activation, Tensors]] = field(default_factory=dict)
    found: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def units(self) -> list[Unit]:
        """The units of the model, without the units of idle environments."""
        return [unit for unit in self.model.units if taking_part(unit, self.parameters)]

    def activation_at(self, unit: str) -> tuple[Activation, Tensors]:
        """The activation at a place, and its settings on the run axis, name → (K,)."""
        return self.activations.get(unit) or (self.model.activation, self.settings["activation"])

    def forward(self, x_KBD: Tensor | None = None) -> Passed:
        """The network's values in evaluation mode, on the probe if nothing else is given.  B: a multiple of 4."""
        if x_KBD is None:
            return self.once("forward", lambda: self.forward(self.probe["x"]))
        before: dict[str, Tensor] = {}
        outputs, hidden = self.model.forward(
            {**self.frozen, **self.parameters}, self.settings["activation"], x_KBD, None, self.body,
            before=before, factor=self.factor,
        )  # fmt: skip
        return Passed(outputs, before, hidden)

    def once(self, key: Any, make: Callable[[], Kept]) -> Kept:
        """The result of `make`, computed once for all diagnostics that measure these parameters at this moment.

        key: the name of the result; if the result depends on a setting, the key must too. Callers must not change the
        result.
        """
        # Stored with its inputs: a view of other parameters, or of another probe, must not receive this result.
        made_of = (self.parameters, self.probe)
        known = self.found.get(key)
        if known is None or any(ours is not theirs for ours, theirs in zip(made_of, known[0], strict=True)):
            known = self.found[key] = (made_of, make())
        return known[1]

    def if_finite(self, values: Tensors) -> dict[str, Tensor]:
        """The values of diagnostics, name → (K,) in float64; NaN for each run that has a value on the probe that is
        not finite: shares of units would count these as alive.
        """
        finite_K = self.once("finite", self._finite)
        return {name: value.double().where(finite_K.to(value.device), float("nan")) for name, value in values.items()}

    def _finite(self) -> Tensor:
        """Whether all values of a run on the probe are finite, (K,)."""
        passed = self.forward()
        every = [*passed.before.values(), *passed.hidden.values(), *passed.outputs.values()]
        return torch.stack([value.flatten(1).isfinite().all(dim=1) for value in every]).all(dim=0)

    def losses(self, parameters: Tensors | None = None) -> Tensor:
        """The loss of each of the probe's examples alone, (K, B), by these parameters or the pack's own."""
        batch = self.probe if self.factor is None else {**self.probe, "factor": self.factor}
        return self.losses_of({**self.frozen, **(self.parameters if parameters is None else parameters)}, batch)

    def loss(self, parameters: Tensors | None = None) -> Tensor:
        """The mean of `losses` for each run, (K,). Summed over the runs, it leaves each its own gradient."""
        # Run by run: torch's order of summation in a mean may depend on the number of runs.
        return torch.stack([losses.mean() for losses in self.losses(parameters).unbind()])
