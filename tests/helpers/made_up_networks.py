"""Networks of layers that no choice of conf/ has yet.

Legend: K runs, B examples, D numbers of an example, I inputs.
"""

from dataclasses import replace
from math import prod

import torch

from plasticity_lab.networks.building import only_body, output_layers
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.networks.network import Design, Network, Unit
from plasticity_lab.stacking.experts import StackedExperts
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.noisy import StackedNoisyLinear

NOISY, ROUTED, EXPERTS = (f"tests.helpers.made_up_networks.{name}" for name in ("NoisyMLP", "RoutedMLP", "ExpertMLP"))


class NoisyMLP(MLP):
    """An MLP of which all layers are noisy."""

    def __init__(self, width: int = 12, depth: int = 2, scope: str = "sample", norm: str = "none") -> None:
        super().__init__(width, depth, norm=norm)
        self.scope = scope

    def normed(self, layer):
        return super().normed(StackedNoisyLinear(layer.name, layer.inputs, layer.outputs, self.scope))

    def design(self, bodies, activation):
        found = super().design(bodies, activation)
        *hidden, last = found.layers
        return replace(found, layers=[*hidden, StackedNoisyLinear(last.name, last.inputs, last.outputs, self.scope)])


class RoutedMLP(MLP):
    """An MLP that adds `weight` · Σ over the first layer's units of (their mean over the batch)² to the loss."""

    def __init__(self, width: int = 12, weight: float = 1.0) -> None:
        super().__init__(width)
        self.weight = weight

    def design(self, bodies, activation):
        return replace(super().design(bodies, activation), losses=("balance",))

    def forward(self, design, parameters, x_KBD, activate, body):
        seen = []

        def watched(site, x):
            seen.append(activate(site, x))
            return seen[-1]

        outputs = super().forward(design, parameters, x_KBD, watched, body)
        means = seen[0].mean(dim=1)
        return outputs | {"balance": self.weight * (means * means).sum(dim=1)}


class ExpertMLP(Network):
    """A hidden layer → experts that are all given its values, twice over → a layer of experts behind each → outputs.

    Three places of units: those of the hidden layer, and the experts of either layer. slots: rows that each expert is
    given of an example, the second a multiple of the first.
    """

    def __init__(self, width: int = 6, experts: int = 3, hidden: int = 4, slots: int = 1) -> None:
        self.width, self.experts, self.hidden, self.slots = width, experts, hidden, slots
        self.init = "default"

    def design(self, bodies, activation):
        shapes = only_body(bodies, "experts")
        width, hidden = (activation.produced(count) for count in (self.width, self.hidden))
        passed, from_expert = (int(count * activation.expansion) for count in (width, hidden))
        layers = [
            StackedLinear("hidden1", prod(shapes.inputs), width),
            StackedExperts("experts1", self.experts, passed, hidden, self.slots),
            StackedExperts("experts2", self.experts, from_expert, hidden, self.slots),
        ]
        outputs = output_layers(shapes, self.experts * self.slots * from_expert)
        places = (self.experts, *((self.slots,) if self.slots > 1 else ()), hidden)
        units = [
            Unit("hidden1", (width,), "hidden1", ("experts1",)),
            Unit("experts1", places, "experts1", ("experts2",), kind="expert"),
            Unit("experts2", places, "experts2", outputs.receiving, kind="expert"),
        ]
        return Design([*layers, *outputs.layers], units, outputs.names)

    def forward(self, design, parameters, x_KBD, activate, body):
        hidden, first, second, *outputs = design.layers
        h = activate(0, hidden(parameters, x_KBD))
        # Stacked: the gradient of a tensor that is expanded would be a sum in an order of the compiler's.
        if self.slots > 1:
            h = torch.stack([h * (1.0 + slot) for slot in range(self.slots)], dim=2)
        h = torch.stack([h] * self.experts, dim=2)
        h = activate(2, second(parameters, activate(1, first(parameters, h))))
        return {name: layer(parameters, h.flatten(2)) for name, layer in zip(design.outputs, outputs, strict=True)}
