"""A network with its activation, for a whole pack: what it is made of, how it starts, and its forward pass.

Legend: K runs, B examples, O classes, * the shape of one example at a unit.
"""

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.activations.activation import Activation, Site
from plasticity_lab.networks.network import Network
from plasticity_lab.randomness.host import host_stream


class Model:
    """The functions of a pack's model. The numbers (parameters, settings, draws) are handed in at each call.

    A pack shares the network and the activation's structure; the activation's `run_axis_settings` and the
    parameters differ from run to run.
    """

    def __init__(
        self, network: Network, activations: Sequence[Activation], image: tuple[int, int, int], classes: int
    ) -> None:
        self.network = network
        self.activations = activations
        self.activation = activations[0]
        self.classes = classes
        self.design = network.design(image, classes, self.activation)
        self.units = self.design.units
        # Asked once: a step, compiled above all, must not ask an activation for where its values start.
        self._learned_names = {
            unit.name: {
                name: _learned_name(unit.name, name, value.shared)
                for name, value in self.activation.learnable(unit.produced[0]).items()
            }
            for unit in self.units
        }

    @property
    def size(self) -> int:
        """Parameters of one run, the activation's own included."""
        return self.design.size + sum(len(start) for start in self._learned_start(self.activation).values())

    def start(self, seeds: Sequence[int], device: torch.device) -> dict[str, Tensor]:
        """The pack's first parameters, name → (K, ...); run k's are a function of its seed and settings alone."""
        runs = [self._start_alone(seed, own) for seed, own in zip(seeds, self.activations, strict=True)]
        return {name: torch.from_numpy(np.stack([run[name] for run in runs])).to(device) for name in runs[0]}

    def draws(self, batch: int) -> int:
        """Random numbers that one training step of one run needs: one for each element before an activation."""
        return sum(batch * prod(unit.produced) for unit in self.units) if self.activation.randomised else 0

    def forward(
        self, parameters: Mapping[str, Tensor], shape: Mapping[str, Tensor], x_KBD: Tensor, uniforms: Tensor | None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Logits (K, B, O), and the activations by unit name (K, B, *).

        shape: the activation's settings on the run axis, name → (K,). uniforms: (K, draws(B)) in training with a
        randomised activation, else None.
        """
        hidden: dict[str, Tensor] = {}
        taken = 0

        def activate(site: int, x: Tensor) -> Tensor:
            nonlocal taken
            unit = self.units[site]
            own = None
            if uniforms is not None:
                # Channels last, as convolutions leave them in memory: read in another order, the numbers would cost
                # more than drawing them.
                last = (*x.shape[:2], *x.shape[3:], x.shape[2])
                own = uniforms[:, taken : taken + prod(x.shape[1:])].view(last).movedim(-1, 2)
                taken += prod(x.shape[1:])
            h = self.activation(x, Site(shape, self._learned_at(unit.name, parameters), own))
            hidden[unit.name] = h
            return h

        return self.network.forward(self.design, parameters, x_KBD, activate), hidden

    def _start_alone(self, seed: int, activation: Activation) -> dict[str, np.ndarray]:
        values: dict[str, np.ndarray] = {}
        last = self.design.layers[-1]
        for layer in self.design.layers:
            gain = 1.0 if layer is last or self.network.init == "default" else activation.gain()
            values |= layer.start(host_stream(seed, "weights", layer.name), self.network.init, gain)
        return values | self._learned_start(activation)

    def _learned_start(self, activation: Activation) -> dict[str, np.ndarray]:
        return {
            _learned_name(unit.name, name, value.shared): np.asarray(value.start, np.float32)
            for unit in self.units
            for name, value in activation.learnable(unit.produced[0]).items()
        }

    def _learned_at(self, unit: str, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: parameters[parameter] for name, parameter in self._learned_names[unit].items()}


def _learned_name(unit: str, name: str, shared: bool) -> str:
    return f"activation.{name}" if shared else f"{unit}.activation.{name}"


def is_learned_by_activation(parameter: str) -> bool:
    """Whether a parameter of that name belongs to the activation rather than to a layer."""
    return "activation" in parameter.split(".")[:-1]
