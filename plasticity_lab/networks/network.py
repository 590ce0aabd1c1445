"""The base class of all networks: a design (layers, and the places of activations), and a forward pass over it.

Legend: K runs, B examples, C channels, H, W rows and columns, D units, E experts, O numbers of an output, * slots.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from torch import Tensor

from plasticity_lab.activations.activation import Activation
from plasticity_lab.component import Component
from plasticity_lab.stacking.batch_normed import StackedBatchNormed
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.identity import StackedIdentity
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.noisy import StackedNoisyLinear
from plasticity_lab.stacking.normed import StackedDiagonal, StackedNormed, StackedRMSNormed

Arrays = Mapping[str, np.ndarray]
FOLLOWED_BY = dict(layer=StackedNormed, rms=StackedRMSNormed, diagonal=StackedDiagonal, batch=StackedBatchNormed)
"""`network.norm` → the class of the layer and its normalisation."""
NORMS = ("none", *FOLLOWED_BY)
WITHOUT_GAIN = ("default", "lecun", "xavier", "variance_scaling")
"""First weights that do not depend on the activation that follows."""


class Layer(Protocol):
    """A stacked layer: a frozen dataclass that holds no parameters (`Design.named` copies it with another name).

    A layer that takes random numbers in training is also a `networks.noise.TakesNoise`.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def name(self) -> str:
        """The prefix of the names of its parameters."""
        ...

    @property
    def outputs(self) -> int:
        """Number of units or channels that it produces."""
        ...

    @property
    def size(self) -> int:
        """Number of parameters of one run."""
        ...

    @property
    def work(self) -> int:
        """Multiplications of a forward pass of one example."""
        ...

    def start(self, draw: np.random.Generator, init: str, gain: float) -> dict[str, np.ndarray]:
        """The first parameters of one run, by name."""
        ...

    def squares(self, parameters: Mapping[str, Tensor], x: Tensor, delta: Tensor, /) -> dict[str, Tensor]:
        """The sum over examples of each example's squared gradient, by parameter (see `per_example`).

        parameters: the network's parameters. x (K, B, ...): the input of the layer; for a layer with a layer within,
        the output of the layer within. delta: the gradient by the output. B is the number of examples times the layer's
        `positions`, if it has this attribute: the rows of the first example come first.
        """
        ...

    def __call__(self, parameters: Mapping[str, Tensor], x: Tensor, /) -> Tensor:
        """x (K, B, ...) → (K, B, ...)."""
        ...


@dataclass(frozen=True)
class Noise:
    """The noise of noisy layers (see `StackedNoisyLinear`): initial deviations, times √inputs, and scope."""

    sigma: float
    scope: str = "sample"


@dataclass(frozen=True)
class Shapes:
    """The inputs and outputs of a network for one environment.

    inputs: shape of one example: (D,), or (C, H, W) for an image. outputs: name → size. constants: learned outputs that
    do not depend on the example, name → size. noise: the noise of the layers behind the encoder, if the agent explores
    with it; None: without noise. `beside`: number of further values that an example may have after its inputs (SAC: the
    action to evaluate). batches: whether updates learn from batches of examples and move running statistics.
    """

    inputs: tuple[int, ...]
    outputs: Mapping[str, int]
    constants: Mapping[str, int] = field(default_factory=dict)
    noise: Noise | None = None
    beside: int = 0
    batches: bool = field(default=False, repr=False)  # no part of a model's structure

    def dense(self, name: str, inputs: int, outputs: int) -> StackedLinear | StackedNoisyLinear:
        """A layer behind the encoder, noisy or not."""
        if self.noise is None:
            return StackedLinear(name, inputs, outputs)
        return StackedNoisyLinear(name, inputs, outputs, self.noise.scope, self.noise.sigma)


@dataclass(frozen=True)
class Unit:
    """The units (or channels, or experts) that one layer produces and one activation follows, as a named place.

    Interventions and diagnostics address units by this name.

    produced: shape of one example, (D,) or (C, H, W). For experts (E, D), or (E, P, D) with P slots: then the E experts
    are addressed, D units each. incoming: the layer that produces them. outgoing: the layers that receive them. body:
    the only environment that uses them; None: all environments do. is_sum: whether the activation's input is a sum of
    the outputs of several layers, and `incoming` is one of them. Such units have no weights that only they use, so they
    are never reset.
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
        """The shape of one example as the activation receives it: first the units or channels, for experts all of
        theirs.
        """
        if self.kind != "expert":
            return self.produced
        experts, *slots, units = self.produced
        return units * experts, *slots

    def units_first(self, x: Tensor) -> Tensor:
        """The input of the activation: for experts (K, B, E, *, D) → (K, B, D·E, *), otherwise x.

        The copies of one unit in all experts are adjacent. So an activation that joins or splits halves of the units
        stays within each expert.
        """
        return x.movedim(-1, 2).flatten(2, 3) if self.kind == "expert" else x

    def experts_first(self, h: Tensor) -> Tensor:
        """The output of the activation for the next layer: for experts (K, B, D·E, *) → (K, B, E, *, D)."""
        return h.unflatten(2, (-1, self.produced[0])).movedim(2, -1) if self.kind == "expert" else h


@dataclass(frozen=True)
class Design:
    """The layers of one network in the order of the forward pass, and its units.

    outputs: output → its layer; if each environment has separate outputs, `<body>.<name>` → layer. bodies: layer → the
    only environment that uses it, for layers that not all environments use. losses: names in the result of the forward
    pass that are losses of the network itself, (K,) each, for example of a router; every agent adds them to its loss.
    prefix: before the names of layers and units, empty or "actor.". rows: number of rows in an encoder's products; if
    there are fewer examples, zeros are appended to their feature maps. encoded: number of layers and number of units
    that make the feature map; a head has the others.
    """

    layers: Sequence[Layer]
    units: Sequence[Unit]
    outputs: Mapping[str, str]
    bodies: Mapping[str, str] = field(default_factory=dict)
    losses: Sequence[str] = ()
    prefix: str = ""
    rows: int = 0
    encoded: tuple[int, int] = (0, 0)

    @property
    def size(self) -> int:
        """Parameters of one run, without the activation's parameters."""
        return sum(layer.size for layer in self.layers)

    def layer(self, name: str) -> Layer:
        """The layer of that name."""
        return next(layer for layer in self.layers if layer.name == name)

    def named(self, prefix: str) -> "Design":
        """The same design with "<prefix>." before the name of each layer and unit, for an agent of several networks."""

        def longer(name: str) -> str:
            return f"{prefix}.{name}"

        units = [
            replace(
                each, name=longer(each.name), incoming=longer(each.incoming), outgoing=tuple(map(longer, each.outgoing))
            )
            for each in self.units
        ]
        return replace(
            self,
            layers=[replace(layer, name=longer(layer.name)) for layer in self.layers],
            units=units,
            outputs={name: longer(layer) for name, layer in self.outputs.items()},
            bodies={longer(layer): body for layer, body in self.bodies.items()},
            prefix=longer(""),
        )


class Activate(Protocol):
    """The activation at the n-th unit of a design: x (K, B, ...) → (K, B, ...)."""

    def __call__(self, site: int, x: Tensor, /) -> Tensor:
        """The value of the activation."""
        ...


class Change(Protocol):
    """A change of a network at one update of each run (see `interventions.changing`)."""

    @property
    def held(self) -> tuple[int, int]:
        """The number of frozen copies of the features' layers, and of the head's layers."""
        ...

    def frozen(self, names: Any, live: Arrays, fresh: Arrays) -> dict[str, np.ndarray]:
        """The frozen parameters of one run at the beginning, by name."""
        ...

    def moves(self, names: Any) -> Mapping[str, str]:
        """Parameter → the parameter with the value that it takes at the change."""
        ...

    def forward(self, halves: Any, x_KBD: Tensor) -> dict[str, Tensor]:
        """The forward pass."""
        ...


class Network(Component):
    """The base class of networks. A subclass defines a `design` for an activation, and the `forward` pass over it.

    The forward pass calls the layers of the given design (not the network's own copies: they may be wrapped) and calls
    `activate(n, x)` once for the n-th unit. It must not read another run or another example.
    norm: none, or a normalisation of FOLLOWED_BY between each layer and the activation that follows it.
    """

    neutral = {"norm": "none"}

    init: str
    norm: str = "none"
    compares: Sequence[str] = ()  # ends of the names of layers with queries and keys
    change: Change | None = None
    """A change while it trains, by an intervention; None: the network stays as it is."""

    @property
    def reading(self) -> str | None:
        """The only layer that receives the example, if it is a matrix product over all its numbers; None otherwise."""
        return None

    @property
    def rows_are_examples(self) -> bool:
        """Whether each linear layer receives one row for each example, and not one for each token."""
        return True

    @property
    def normed_throughout(self) -> bool:
        """Whether `norm` is directly before each activation, so that none follows a plain sum or a plain layer."""
        return True

    def design(self, bodies: Mapping[str, Shapes], activation: Activation) -> Design:
        """The layers for each environment's inputs and outputs, with widths that fit the activation (see `fitted`).

        Raises ConfigError for shapes that it cannot take.
        """
        raise NotImplementedError

    def gain(self, output: str | None, activation: Activation) -> float:
        """The factor of the first weights of a layer (see `start` of the layers).

        output: the name of the output that the layer computes; None for a hidden layer, which an activation follows.
        """
        return activation.gain() if output is None and self.init not in WITHOUT_GAIN else 1.0

    def init_of(self, layer: str) -> str:
        """The distribution of a layer's first weights, by its name (see `start` of the layers): by default `init`."""
        return self.init

    def normed(self, layer: StackedLinear | StackedConv2d | StackedNoisyLinear | StackedIdentity) -> Layer:
        """A layer, or a place of a residual stream, with the normalisation that `norm` adds."""
        return layer if self.norm == "none" else FOLLOWED_BY[self.norm](layer.name, layer)

    def changed(self, change: Change) -> Self:
        """The same network with that change."""
        other = copy(self)
        other.change = change
        return other

    def forward(
        self, design: Design, parameters: Mapping[str, Tensor], x_KBD: Tensor, activate: Activate, body: str
    ) -> dict[str, Tensor]:
        """The inputs of an environment, flattened, as floats (K, B, D) → its outputs, name → (K, B, O).

        The result also holds the design's `losses`, name → (K,).
        """
        raise NotImplementedError
