"""Networks of layers that no choice of conf/ has yet.

Legend: K runs, B examples, D numbers of an example, I inputs.
"""

from dataclasses import replace

from plasticity_lab.networks.mlp import MLP
from plasticity_lab.stacking.noisy import StackedNoisyLinear

NOISY, ROUTED = (f"tests.helpers.made_up_networks.{name}" for name in ("NoisyMLP", "RoutedMLP"))


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
