"""The multi-headed network of continual reinforcement learning: a shared trunk, and adapters and heads per environment.

Legend: K runs, B examples, D numbers of an observation, O numbers of an output.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import prod, sqrt

from torch import Tensor

from plasticity_lab.activations.activation import Activation
from plasticity_lab.component import check
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.building import dense_units, fitted, narrower
from plasticity_lab.networks.halves import InHalves
from plasticity_lab.networks.network import NORMS, Activate, Design, Layer, Network, Shapes, Unit
from plasticity_lab.stacking.constant import StackedConstant
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.scale import StackedScale

Passed = Callable[[str, Tensor], Tensor]
"""(name of a layer, its input) → its output."""
INITS = ("default", "kaiming", "lecun", "orthogonal")
ORTHOGONAL_GAINS = {None: sqrt(2), "policy": 0.01, "value": 1.0}
"""The gain by a layer's output, None for hidden layers, as in CleanRL's `layer_init`. Any other output has 1."""


class ActorCritic(InHalves):
    """An adapter for each environment → a trunk of `depth` layers of `width` units → heads for each environment.

    An environment's layers and units are called `<body>.adapter`, `<body>.policy`, `<body>.value`, …; the trunk is
    trunk1 … trunk<depth>. Source: Section 7 and Appendix B (a backbone of 2 × 256, an input adapter and output heads
    for each environment). The paper does not describe the adapter further. Here it is a linear layer with the
    activation (`adapter_activation`), one more than the two of the backbone.

    separate_value_trunk: whether the value has a separate trunk, value_trunk1 …, behind the same adapter. adapter:
    whether there are adapters; without them, all environments must have observations of one shape. `init`: default
    (PyTorch's), kaiming (with the activation's gain), lecun (uniform in ±√(3/inputs), biases zero, heads too: the code
    of Dohare et al. 2024), orthogonal (gain √2, policy 0.01, value 1, biases zero: CleanRL). `norm`: none, or layer
    (before each activation). input_scale: a factor on the input of each trunk;
    learn_input_scale: whether it is learned, for each trunk and run (Chung et al. 2024).
    """

    neutral = {**Network.neutral, "input_scale": 1.0, "learn_input_scale": False}
    read_if = {"adapter_activation": ("adapter", bool)}

    def __init__(
        self,
        width: int = 256,
        depth: int = 2,
        adapter: bool = True,
        adapter_activation: bool = True,
        separate_value_trunk: bool = False,
        init: str = "lecun",
        norm: str = "none",
        input_scale: float = 1.0,
        learn_input_scale: bool = False,
    ) -> None:
        self.width = check("network.width", width, at_least=1)
        self.depth = check("network.depth", depth, at_least=1)
        self.adapter, self.adapter_activation = adapter, adapter_activation
        self.separate_value_trunk = separate_value_trunk
        self.init = check("network.init", init, one_of=INITS)
        self.norm = check("network.norm", norm, one_of=NORMS)
        self.input_scale = check("network.input_scale", input_scale, above=0)
        self.learn_input_scale = learn_input_scale

    def design(self, bodies: Mapping[str, Shapes], activation: Activation) -> Design:
        """Adapters, trunks, then the heads of each environment.

        Raises ConfigError without adapters if the environments have observations of several shapes.
        """
        shown = {prod(shapes.inputs) for shapes in bodies.values()}
        if not self.adapter and len(shown) > 1:
            raise ConfigError(
                f"network.adapter=false: the bodies {', '.join(bodies)} show observations of different shapes, so each "
                "needs an adapter; choose network.adapter=true."
            )

        def trimmed(percent: int) -> Design:
            width = narrower(self.width, percent)
            return self._of_width(bodies, width, activation.produced(width), activation.expansion)

        return fitted(activation, lambda: self._of_width(bodies, self.width, self.width, 1), trimmed)

    def gain(self, output: str | None, activation: Activation) -> float:
        """See `ORTHOGONAL_GAINS`; 1 for lecun."""
        if self.init == "orthogonal":
            return ORTHOGONAL_GAINS.get(output, 1.0)
        return 1.0 if self.init == "lecun" else super().gain(output, activation)

    def forward(
        self, design: Design, parameters: Mapping[str, Tensor], x_KBD: Tensor, activate: Activate, body: str
    ) -> dict[str, Tensor]:
        """(K, B, D) → the environment's outputs, name → (K, B, O).

        The same numbers as `head_inputs` and `head_outputs`, but one trunk after the other: randomised activations draw
        their slopes in this order.
        """
        passed = _passing(design, parameters, activate)
        h = passed(f"{body}.adapter", x_KBD) if self.adapter else x_KBD
        behind = {}
        for trunk in self._trunks():
            behind[trunk] = self._scaled(passed, trunk, h)
            for number in range(self.depth):
                behind[trunk] = passed(f"{trunk}{number + 1}", behind[trunk])
        return self._answers(design, passed, behind, body)

    def head_inputs(
        self, design: Design, parameters: Mapping[str, Tensor], x_KBD: Tensor, activate: Activate, body: str
    ) -> dict[str, Tensor]:
        """(K, B, D) → the values behind all layers of each trunk except the last, trunk → (K, B, D)."""
        passed = _passing(design, parameters, activate)
        h = passed(f"{body}.adapter", x_KBD) if self.adapter else x_KBD
        behind = {}
        for trunk in self._trunks():
            behind[trunk] = self._scaled(passed, trunk, h)
            for number in range(1, self.depth):
                behind[trunk] = passed(f"{trunk}{number}", behind[trunk])
        return behind

    def head_outputs(
        self,
        design: Design,
        parameters: Mapping[str, Tensor],
        features: Mapping[str, Tensor],
        activate: Activate,
        body: str,
    ) -> dict[str, Tensor]:
        """The last layer of each trunk, and the environment's outputs, name → (K, B, O)."""
        passed = _passing(design, parameters, activate)
        behind = {trunk: passed(f"{trunk}{self.depth}", h) for trunk, h in features.items()}
        return self._answers(design, passed, behind, body)

    def head_names(self, design: Design) -> list[str]:
        """The last layer of each trunk, and all output layers."""
        last = [f"{design.prefix}{trunk}{self.depth}" for trunk in self._trunks()]
        return [*last, *design.outputs.values()]

    def _answers(self, design: Design, passed: Passed, behind: Mapping[str, Tensor], body: str) -> dict[str, Tensor]:
        """The environment's outputs, from the values behind each trunk."""
        own = [name.rpartition(".")[2] for name, layer in design.outputs.items() if design.bodies[layer] == body]
        return {name: passed(f"{body}.{name}", behind[self._trunk_of(name)]) for name in own}

    @property
    def _scales(self) -> bool:
        return self.learn_input_scale or self.input_scale != 1

    def _scaled(self, passed: Passed, trunk: str, h: Tensor) -> Tensor:
        """The input of the trunk's first layer."""
        return passed(f"{trunk}_input", h) if self._scales else h

    def _trunks(self) -> tuple[str, ...]:
        return ("trunk", "value_trunk") if self.separate_value_trunk else ("trunk",)

    def _trunk_of(self, output: str) -> str:
        return "value_trunk" if self.separate_value_trunk and output == "value" else "trunk"

    def _of_width(self, bodies: Mapping[str, Shapes], width: int, produced: int, expansion: Fraction | int) -> Design:
        """The design with hidden layers of that width; each passes on expansion × as many values.

        width: the width of an adapter without an activation.
        """
        passed, layers, units, own = int(produced * expansion), [], [], {}
        firsts = tuple(f"{trunk}1" for trunk in self._trunks())
        for body, shapes in bodies.items() if self.adapter else ():
            name = f"{body}.adapter"
            adapter = StackedLinear(name, prod(shapes.inputs), produced if self.adapter_activation else width)
            layers.append(self.normed(adapter) if self.adapter_activation else adapter)
            own[name] = body
            if self.adapter_activation:
                units.append(Unit(name, (produced,), incoming=name, outgoing=firsts, body=body))
        given = prod(next(iter(bodies.values())).inputs)
        if self.adapter:
            given = passed if self.adapter_activation else width
        heads = {body: self._heads(body, shapes, passed) for body, shapes in bodies.items()}
        for trunk in self._trunks():
            answers = [
                layer.name
                for of_body in heads.values()
                for output, layer in of_body.items()
                if isinstance(layer, StackedLinear) and self._trunk_of(output) == trunk
            ]
            widths = {f"{trunk}{number + 1}": produced for number in range(self.depth)}
            inputs = given
            if self._scales:
                layers.append(StackedScale(f"{trunk}_input", given, self.input_scale, self.learn_input_scale))
            for name in widths:
                layers.append(self.normed(StackedLinear(name, inputs, produced)))
                inputs = passed
            units += dense_units(widths, tuple(answers))
        for body, of_body in heads.items():
            layers += of_body.values()
            own |= {layer.name: body for layer in of_body.values()}
        outputs = {layer.name: layer.name for of_body in heads.values() for layer in of_body.values()}
        return Design(layers, units, outputs, own)

    def _heads(self, body: str, shapes: Shapes, inputs: int) -> dict[str, Layer]:
        """The output layers of an environment, by the name of the output."""
        heads: dict[str, Layer] = {}
        for name, size in shapes.outputs.items():
            heads[name] = StackedLinear(f"{body}.{name}", inputs, size)
        for name, size in shapes.constants.items():
            heads[name] = StackedConstant(f"{body}.{name}", size)
        return heads


def _passing(design: Design, parameters: Mapping[str, Tensor], activate: Activate) -> Passed:
    """The layers of a forward pass by name, each with its activation if it has one."""
    layers = {layer.name.removeprefix(design.prefix): layer for layer in design.layers}
    sites = {unit.name.removeprefix(design.prefix): site for site, unit in enumerate(design.units)}

    def passed(name: str, x: Tensor) -> Tensor:
        h = layers[name](parameters, x)
        return activate(sites[name], h) if name in sites else h

    return passed
