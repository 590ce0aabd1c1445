"""The multi-layer perceptron of the continual supervised benchmarks.

Legend: K runs, B examples, D units, O classes.
"""

from collections.abc import Mapping
from math import prod

from torch import Tensor

from plasticity_lab.activations.activation import Activation
from plasticity_lab.component import check
from plasticity_lab.networks.network import Activate, Design, Network, Unit
from plasticity_lab.networks.width import trim, trimmed
from plasticity_lab.stacking.linear import StackedLinear


class MLP(Network):
    """`depth` hidden layers of `width` units, and a linear classifier.  Source: Appendix B (2 × 100).

    `init`: default (PyTorch's; what the benchmarks used) or kaiming (with the activation's gain).
    """

    def __init__(self, width: int = 100, depth: int = 2, init: str = "default") -> None:
        self.width = check("network.width", width, at_least=1)
        self.depth = check("network.depth", depth, at_least=1)
        self.init = check("network.init", init, one_of=("default", "kaiming"))

    def design(self, image: tuple[int, int, int], classes: int, activation: Activation) -> Design:
        """Flattened pixels → hidden1 … hidden<depth> → output."""

        def of_width(produced: int, expansion: float) -> Design:
            names = [f"hidden{n + 1}" for n in range(self.depth)]
            sizes = [prod(image)] + [int(produced * expansion)] * self.depth
            hidden = [StackedLinear(name, inputs, produced) for name, inputs in zip(names, sizes, strict=False)]
            output = StackedLinear("output", sizes[-1], classes)
            units = [
                Unit(name, (produced,), incoming=name, outgoing=following)
                for name, following in zip(names, [*names[1:], "output"], strict=True)
            ]
            return Design([*hidden, output], units)

        def adapted(width: int) -> Design:
            return of_width(activation.produced(width), activation.expansion)

        if activation.matches_parameters:
            target = of_width(self.width, 1).size
            percent = trim(target, lambda percent: adapted(trimmed(self.width, percent)).size)
            return adapted(trimmed(self.width, percent))
        return adapted(self.width)

    def forward(self, design: Design, parameters: Mapping[str, Tensor], x_KBD: Tensor, activate: Activate) -> Tensor:
        """Pixels (K, B, C·H·W) → logits (K, B, O)."""
        *hidden, output = design.layers
        for site, layer in enumerate(hidden):
            x_KBD = activate(site, layer(parameters, x_KBD))
        return output(parameters, x_KBD)
