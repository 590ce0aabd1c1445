"""The multi-layer perceptron of the continual supervised benchmarks.

Legend: K runs, B examples, D units, O numbers of an output.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import prod

from torch import Tensor

from plasticity_lab.activations.activation import Activation
from plasticity_lab.component import check
from plasticity_lab.networks.building import dense_units, fitted, narrower, only_body, output_layers
from plasticity_lab.networks.halves import InHalves
from plasticity_lab.networks.network import NORMS, Activate, Design, Shapes


class MLP(InHalves):
    """`depth` hidden layers of `width` units, and a linear layer for each output.  Source: Appendix B (2 × 100).

    `init`: default (PyTorch's, as in the benchmarks) or kaiming (with the activation's gain). `norm`: one of
    NORMS (before each activation). If an agent asks for noise, all layers are noisy.
    """

    plain_stack = True
    """Its forward pass is its layers one after the other, with the activation between them and nothing else. Then our
    kernels can take many steps in one call. It holds for this class, not for its subclasses."""

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
        """The flattened input → hidden1 … hidden<depth> → a layer for each output."""
        shapes = only_body(bodies, "mlp")

        def of_width(produced: int, expansion: Fraction | float) -> Design:
            widths = {f"hidden{n + 1}": produced for n in range(self.depth)}
            inputs, hidden = prod(shapes.inputs), []
            for name in widths:
                hidden.append(self.normed(shapes.dense(name, inputs, produced)))
                inputs = int(produced * expansion)
            outputs = output_layers(shapes, inputs)
            return Design([*hidden, *outputs.layers], dense_units(widths, outputs.receiving), outputs.names)

        def trimmed(percent: int) -> Design:
            return of_width(activation.produced(narrower(self.width, percent)), activation.expansion)

        return fitted(activation, lambda: of_width(self.width, 1), trimmed)

    def head_inputs(
        self, design: Design, parameters: Mapping[str, Tensor], x_KBD: Tensor, activate: Activate, body: str
    ) -> Tensor:
        """The input → the values behind all hidden layers except the last, (K, B, D)."""
        for site, layer in enumerate(design.layers[: self.depth - 1]):
            x_KBD = activate(site, layer(parameters, x_KBD))
        return x_KBD

    def head_outputs(
        self, design: Design, parameters: Mapping[str, Tensor], features: Tensor, activate: Activate, body: str
    ) -> dict[str, Tensor]:
        """The last hidden layer and the output layers."""
        last = self.depth - 1
        h = activate(last, design.layers[last](parameters, features))
        outputs = zip(design.outputs, design.layers[self.depth :], strict=True)
        return {name: layer(parameters, h) for name, layer in outputs}

    def head_names(self, design: Design) -> list[str]:
        """The last hidden layer and the output layers."""
        return [layer.name for layer in design.layers[self.depth - 1 :]]
