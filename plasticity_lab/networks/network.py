"""What a network is: a design (layers, and where the activation stands between them), and a forward pass over it.

Legend: K runs, B examples, C channels, H, W rows and columns, D units, O numbers of an output.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from torch import Tensor

from plasticity_lab.activations.activation import Activation
from plasticity_lab.component import Component
from plasticity_lab.errors import ConfigError
from plasticity_lab.stacking.constant import StackedConstant
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.noisy import StackedNoisyLinear
from plasticity_lab.stacking.normed import StackedNormed

NORMS = ("none", "layer")
WITHOUT_GAIN = ("default", "lecun", "xavier", "variance_scaling")
"""First weights that do not depend on the activation that follows."""


class Layer(Protocol):
    """A stacked layer: where its numbers are found, how they start, and how many one run has.

    One that takes random numbers in training is also a `networks.noise.TakesNoise`. It is a frozen dataclass:
    `Design.named` makes another of it, with another name.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def name(self) -> str:
        """Under which its parameters are found."""
        ...

    @property
    def outputs(self) -> int:
        """How many units or channels it gives."""
        ...

    @property
    def size(self) -> int:
        """Parameters of one run."""
        ...

    @property
    def work(self) -> int:
        """Multiplications that one example takes forward."""
        ...

    def start(self, draw: np.random.Generator, init: str, gain: float) -> dict[str, np.ndarray]:
        """One run's first parameters, by name."""
        ...

    def squares(self, parameters: Mapping[str, Tensor], x: Tensor, delta: Tensor, /) -> dict[str, Tensor]:
        """Σ over examples of the squares of the gradient by each alone, by parameter (see `per_example`).

        parameters: the network's. x (K, B, ...): the input of the layer; for a layer with a layer within, the output of
        the layer within. delta: the gradient by its own value. B is the number of examples times the layer's
        `positions`, if it has this attribute: the rows of the first example come first.
        """
        ...

    def __call__(self, parameters: Mapping[str, Tensor], x: Tensor, /) -> Tensor:
        """x (K, B, ...) → (K, B, ...)."""
        ...


@dataclass(frozen=True)
class Noise:
    """How noisy layers are (see `StackedNoisyLinear`): their deviations at first, times √inputs, and their scope."""

    sigma: float
    scope: str = "sample"


@dataclass(frozen=True)
class Shapes:
    """What a network is given for one body, and what it answers.

    inputs: the shape of one example: (D,), or of an image (C, H, W). outputs: name → how many numbers. constants: those
    of its answers that do not depend on the example, learned like any others: name → how many numbers. noise: of the
    layers behind the encoder, an agent's that explores by it; None: they have none. beside: how many numbers an example
    may have behind those of its inputs, as an action has of which the value is asked.
    """

    inputs: tuple[int, ...]
    outputs: Mapping[str, int]
    constants: Mapping[str, int] = field(default_factory=dict)
    noise: Noise | None = None
    beside: int = 0

    def dense(self, name: str, inputs: int, outputs: int) -> StackedLinear | StackedNoisyLinear:
        """A layer behind the encoder, noisy or not."""
        if self.noise is None:
            return StackedLinear(name, inputs, outputs)
        return StackedNoisyLinear(name, inputs, outputs, self.noise.scope, self.noise.sigma)


@dataclass(frozen=True)
class Unit:
    """A named place where units (or channels) stand: behind which layer, before which, and the shape of one example.

    `produced` (D,) or (C, H, W) is what the layer gives; interventions address units by this name. Of experts it is
    (E, D), or (E, P, D) with P slots: what is addressed are the E experts, D units each. body: the body that alone has
    them; None: all have. is_sum: whether what the activation is given is a sum of several layers' outputs, of which
    `incoming` is one: such units have no weights of their own that could be drawn anew, and none is reset.
    """

    name: str
    produced: tuple[int, ...]
    incoming: str
    outgoing: tuple[str, ...]
    kind: Literal["unit", "channel", "expert"] = "unit"
    body: str | None = None
    is_sum: bool = False

    @property
    def activated(self) -> tuple[int, ...]:
        """The shape of one example as the activation is given it: units or channels first, of all experts together."""
        if self.kind != "expert":
            return self.produced
        experts, *slots, units = self.produced
        return units * experts, *slots


@dataclass(frozen=True)
class Design:
    """The layers of one network in the order of the forward pass, and its units.

    outputs: name → the layer that answers it; where each body has its own, `<body>.<name>` → its layer. bodies: layer →
    the body that alone uses it, for layers that not all use. losses: which of the names that the forward pass returns
    are no outputs but losses of the network's own, (K,) each, run k's by itself (that of a router, for example): what
    every agent adds to its loss as they are. prefix: what stands before the names of layers and units:
    nothing, or "actor.". rows: of an encoder's products: where there are fewer examples, zeros are laid behind their
    feature maps.
    """

    layers: Sequence[Layer]
    units: Sequence[Unit]
    outputs: Mapping[str, str]
    bodies: Mapping[str, str] = field(default_factory=dict)
    losses: Sequence[str] = ()
    prefix: str = ""
    rows: int = 0

    @property
    def size(self) -> int:
        """Parameters of one run, without the activation's own."""
        return sum(layer.size for layer in self.layers)

    def layer(self, name: str) -> Layer:
        """The layer of that name."""
        return next(layer for layer in self.layers if layer.name == name)

    def named(self, prefix: str) -> "Design":
        """The same design with "<prefix>." before the name of each layer and unit, for an agent of several networks."""

        def longer(name: str) -> str:
            return f"{prefix}.{name}"

        return Design(
            [replace(layer, name=longer(layer.name)) for layer in self.layers],
            [
                replace(
                    unit,
                    name=longer(unit.name),
                    incoming=longer(unit.incoming),
                    outgoing=tuple(map(longer, unit.outgoing)),
                )
                for unit in self.units
            ],
            {name: longer(layer) for name, layer in self.outputs.items()},
            {longer(layer): body for layer, body in self.bodies.items()},
            self.losses,
            longer(""),
        )


class Activate(Protocol):
    """The activation at the n-th of a design's units: x (K, B, ...) → (K, B, ...)."""

    def __call__(self, site: int, x: Tensor, /) -> Tensor:
        """The activation's value."""
        ...


class Network(Component):
    """A family of networks. Final classes lay out a design for an activation and write the forward pass over it.

    norm: none, or layer: layer normalisation between each layer and the activation that follows it.
    """

    neutral = {"norm": "none"}

    init: str
    norm: str = "none"

    @property
    def reading(self) -> str | None:
        """The one layer that is given the example, all its numbers in a row, where it is a matrix product; or None."""
        return None

    @property
    def rows_are_examples(self) -> bool:
        """Whether each of its linear layers is given one row for each example, and not one for each token."""
        return True

    def design(self, bodies: Mapping[str, Shapes], activation: Activation) -> Design:
        """The layers for each body's inputs and outputs, with room for what the activation adds or drops.

        Raises ConfigError for shapes that it cannot take.
        """
        raise NotImplementedError

    def gain(self, output: str | None, activation: Activation) -> float:
        """By how much the first weights of a layer are stretched (see the layers' `start`).

        output: the name of what the layer answers; None for a hidden one, which an activation follows.
        """
        return activation.gain() if output is None and self.init not in WITHOUT_GAIN else 1.0

    def init_of(self, layer: str) -> str:
        """How a layer's first weights are drawn, by its name (see the layers' `start`): as `init` says."""
        return self.init

    def normed(self, layer: StackedLinear | StackedConv2d | StackedNoisyLinear) -> Layer:
        """A layer that an activation follows, with what `norm` puts between them."""
        return StackedNormed(layer.name, layer) if self.norm == "layer" else layer

    def forward(
        self, design: Design, parameters: Mapping[str, Tensor], x_KBD: Tensor, activate: Activate, body: str
    ) -> dict[str, Tensor]:
        """What a body is given, flattened, as floats (K, B, D) → its outputs, name → (K, B, O).

        Beside them the design's `losses`, if it has some, name → (K,).
        """
        raise NotImplementedError


def only_body(bodies: Mapping[str, Shapes], network: str) -> Shapes:
    """The shapes of the only body, for networks that serve one.  Raises ConfigError where there are several."""
    shapes = list(bodies.values())
    if any(other != shapes[0] for other in shapes):
        raise ConfigError(
            f"network={network} has one input and one set of outputs, and the bodies {', '.join(bodies)} differ in "
            "theirs; choose a network that has some for each body."
        )
    return shapes[0]


def output_layers(shapes: Shapes, inputs: int) -> dict[str, Layer]:
    """A dense layer for each output, by the output's name; that of a classifier's "logits" is called `output`.

    Behind them one for each constant.
    """
    layers: dict[str, Layer] = {}
    for name, size in shapes.outputs.items():
        layers[name] = shapes.dense("output" if name == "logits" else name, inputs, size)
    for name, size in shapes.constants.items():
        layers[name] = StackedConstant(name, size)
    return layers
