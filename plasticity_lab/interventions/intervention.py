"""What an intervention is: four verbs that return values.

Legend: K runs, B examples, * the shape of one example at a unit.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar

import torch
from torch import Tensor

from plasticity_lab.component import Component
from plasticity_lab.networks.model import Model

Parameters = Mapping[str, Tensor]
State = dict[str, Tensor]
Hidden = Mapping[str, Tensor]
Moments = Mapping[str, Mapping[str, Tensor]]
Batches = Callable[[], Iterable[tuple[Tensor, Tensor]]]
"""The finished task's training examples in evaluation order: pixels as floats (K, B, D), labels (K, B)."""


class Intervention(Component):
    """Four verbs over explicit state; the defaults do nothing. Vary by wrapping, never by overriding another's verb.

    Settings annotated `float` may differ between the runs of a pack and reach every verb as `settings`, name → (K,);
    state is tensors (K, ...), checkpointed as they are, and its shapes never change. `watches_units` asks the step to
    hand over the activations.
    """

    watches_units: ClassVar[bool] = False

    floats_on_run_axis = True

    def start(self, model: Model, parameters: Parameters) -> State:
        """The state before the first step."""
        return {}

    def penalty(self, parameters: Parameters, settings: Mapping[str, Tensor], state: State) -> Tensor:
        """(K,), added to each run's own loss."""
        first = next(iter(parameters.values()))
        return torch.zeros(first.shape[0], dtype=first.dtype, device=first.device)

    def after_step(
        self, parameters: Parameters, hidden: Hidden, moments: Moments, settings: Mapping[str, Tensor], state: State
    ) -> State:
        """Called after the optimizer; may change parameters and moments in place, and returns the next state.

        hidden: the step's activations, unit → (K, B, *), if it watches units, else empty.
        """
        return state

    def after_task(
        self, model: Model, parameters: Parameters, batches: Batches, settings: Mapping[str, Tensor], state: State
    ) -> State:
        """Called when a task has been learned and evaluated; returns the next state."""
        return state
