"""The multi-layer perceptron of the continual supervised benchmarks.

Legend: K runs, B examples, D units, O numbers of an output.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import prod

from torch import Tensor

from plasticity_lab.activations.activation import Activation
from plasticity_lab.component import check
from plasticity_lab.networks.network import NORMS, Activate, Design, Network, Shapes, Unit, only_body, output_layers
from plasticity_lab.networks.width import trim, trimmed


class MLP(Network):
    """`depth` hidden layers of `width` units, and a linear layer for each output.  Source: Appendix B (2 × 100).

    `init`: default (PyTorch's; what the benchmarks used) or kaiming (with the activation's gain). `norm`: none, or
    layer (before each activation). Where an agent asks for noise, all layers have it.
    """

    def __init__(self, width: int = 100, depth: int = 2, init: str = "default", norm: str = "none") -> None:
        self.width = check("network.width", width, at_least=1)
        self.depth = check("network.depth", depth, at_least=1)
        self.init = check("network.init", init, one_of=("default", "kaiming"))
        self.norm = check("network.norm", norm, one_of=NORMS)

    @property
    def reading(self) -> str:
        """The first hidden layer."""
        return "hidden1"

    def design(self, bodies: Mapping[str, Shapes], activation: Activation) -> Design:
        """What is given, flattened → hidden1 … hidden<depth> → a layer for each output."""
        shapes = only_body(bodies, "mlp")

        def of_width(produced: int, expansion: Fraction | float) -> Design:
            names = [f"hidden{n + 1}" for n in range(self.depth)]
            sizes = [prod(shapes.inputs)] + [int(produced * expansion)] * self.depth
            hidden = [
                self.normed(shapes.dense(name, inputs, produced)) for name, inputs in zip(names, sizes, strict=False)
            ]
            outputs = output_layers(shapes, sizes[-1])
            last = tuple(outputs[name].name for name in shapes.outputs)
            units = [
                Unit(name, (produced,), incoming=name, outgoing=following)
                for name, following in zip(names, [*((name,) for name in names[1:]), last], strict=True)
            ]
            answers = {name: layer.name for name, layer in outputs.items()}
            return Design([*hidden, *outputs.values()], units, answers)

        def adapted(width: int) -> Design:
            return of_width(activation.produced(width), activation.expansion)

        if activation.matches_parameters:
            target = of_width(self.width, 1).size
            percent = trim(target, lambda percent: adapted(trimmed(self.width, percent)).size)
            return adapted(trimmed(self.width, percent))
        return adapted(self.width)

    def forward(
        self, design: Design, parameters: Mapping[str, Tensor], x_KBD: Tensor, activate: Activate, body: str
    ) -> dict[str, Tensor]:
        """(K, B, D) → the outputs, name → (K, B, O)."""
        for site, layer in enumerate(design.layers[: self.depth]):
            x_KBD = activate(site, layer(parameters, x_KBD))
        outputs = zip(design.outputs, design.layers[self.depth :], strict=True)
        return {name: layer(parameters, x_KBD) for name, layer in outputs}
