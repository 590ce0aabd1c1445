"""What a network is: a design (layers, and where the activation stands between them), and a forward pass over it.

Legend: K runs, B examples, C channels, H, W rows and columns, D units, O classes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from torch import Tensor

from plasticity_lab.activations.activation import Activation
from plasticity_lab.component import Component


class Layer(Protocol):
    """A stacked layer: where its numbers are found, how they start, and how many one run has."""

    name: str

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

    def __call__(self, parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """x (K, B, ...) → (K, B, ...)."""
        ...


@dataclass(frozen=True)
class Unit:
    """A named place where units (or channels) stand: after which layer, before which, and the shape of one example.

    `produced` (D,) or (C, H, W) is what the activation is given; interventions address units by this name.
    """

    name: str
    produced: tuple[int, ...]
    incoming: str
    outgoing: str


@dataclass(frozen=True)
class Design:
    """The layers of one network for one input and output, in the order of the forward pass, and its units."""

    layers: Sequence[Layer]
    units: Sequence[Unit]

    @property
    def size(self) -> int:
        """Parameters of one run, without the activation's own."""
        return sum(layer.size for layer in self.layers)


class Activate(Protocol):
    """The activation at the n-th of a design's units: x (K, B, ...) → (K, B, ...)."""

    def __call__(self, site: int, x: Tensor) -> Tensor:
        """The activation's value."""
        ...


class Network(Component):
    """A family of networks. Final classes lay out a design for an activation and write the forward pass over it."""

    init: str

    def design(self, image: tuple[int, int, int], classes: int, activation: Activation) -> Design:
        """The layers for images (C, H, W) and so many classes, with room for what the activation adds or drops."""
        raise NotImplementedError

    def forward(self, design: Design, parameters: Mapping[str, Tensor], x_KBD: Tensor, activate: Activate) -> Tensor:
        """Pixels as floats (K, B, C·H·W) → logits (K, B, O)."""
        raise NotImplementedError
