"""A network with its activation, for a whole pack: its parts, its first parameters, and its forward pass.

Legend: K runs, B examples, D numbers of an example, N random numbers, O numbers of an output, * the shape of one
example at a unit.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.activations.activation import Activation, Site
from plasticity_lab.errors import ConfigError
from plasticity_lab.kernels.through import ThroughKernels
from plasticity_lab.networks.encoder import Encoder
from plasticity_lab.networks.halves import FROZEN, frozen_of, held_of, moves_of, outputs_of
from plasticity_lab.networks.layer_kinds import kernel_parts
from plasticity_lab.networks.network import Design, Layer, Network, Shapes
from plasticity_lab.networks.noise import TakesNoise, with_noise
from plasticity_lab.networks.statistics import first_statistics, in_update
from plasticity_lab.networks.token_rows import examples_first, in_rows
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.batch_normed import Learning
from plasticity_lab.stacking.pixels import of_pixels
from plasticity_lab.stacking.router import StackedRouter

Value = TypeVar("Value")
LOSS = "loss: "
"""Prefix of a loss of the network itself among the activations."""


class Model:
    """The functions of a pack's model. Numbers (parameters, settings, draws) are arguments of each call.

    The runs of a pack share the network and the structure of the activation. The activation's `run_axis_settings` and
    the parameters differ from run to run. bodies: inputs and outputs of the network, by environment; a classifier has
    one.
    inputs: the shape of one example, by environment. statistics: a run's first running statistics, by name; among
    the parameters they count as frozen. prefix: before the name of every layer, unit and parameter, for an
    agent of several networks ("actor"). structure_key: the structure that neither network nor activation holds; two
    models with the same network, activation and key are the same functions.

    Raises ConfigError if the agent asks for noisy layers and the network has none, or if the network has running
    statistics and the agent no batches; the network may raise further errors.
    """

    by_example = True
    """Whether `per_example` finds the gradients of single examples in one pass; otherwise each takes its own pass."""

    def __init__(
        self, network: Network, activations: Sequence[Activation], bodies: Mapping[str, Shapes], prefix: str = ""
    ) -> None:
        self.network, self.bodies = network, bodies
        self.activations = activations
        self.activation = activations[0]
        self.prefix, self.structure_key = prefix, repr((prefix, dict(bodies)))
        design = network.design(bodies, self.activation)
        self.design = design.named(prefix) if prefix else design
        self.units, self._frozen = self.design.units, f"{self.design.prefix}{FROZEN}"
        self.only_body = next(iter(bodies))
        self.inputs = {body: shapes.inputs for body, shapes in bodies.items()}
        # The only environment of a parameter, by the name of its layer or of its unit's activation.
        of_units = {f"{unit.name}.activation": unit.body for unit in self.units if unit.body is not None}
        self._own = {**self.design.bodies, **of_units} if len(bodies) > 1 else {}
        self._noisy = {
            layer.name: layer for layer in self.design.layers if isinstance(layer, TakesNoise) and layer.noise(1)
        }
        if not self._noisy and any(shapes.noise is not None for shapes in bodies.values()):
            raise ConfigError(
                f"The agent asks for noisy layers, and the network {type(network).__name__} has none; choose one that "
                "has (network=mlp, nature or small_nature, for example), or an agent without them."
            )
        self.statistics = first_statistics(self.design, bodies)
        # Computed once: a step, above all a compiled one, must not ask an activation or a layer for initial values.
        self._learned_names = {
            unit.name: {
                name: _learned_name(prefix, unit.name, name, value.shared)
                for name, value in self.activation.learnable(unit.activated[0]).items()
            }
            for unit in self.units
        }
        self.moves = {} if network.change is None else moves_of(network, self.design, self._drawn(0, 0))
        self.restarted = frozenset(self.learned(self.moves))

    @property
    def size(self) -> int:
        """Parameters of one run, including the activation's parameters."""
        return self.design.size + sum(len(start) for start in self._learned_start(self.activation).values())

    @property
    def stored(self) -> int:
        """Numbers of one run in saved weights: `size`, the frozen parameters, and the running statistics."""
        return self.size + self.held(lambda layer: layer.size) + sum(first.size for first in self.statistics.values())

    @property
    def losses(self) -> list[str]:
        """The names of the network's own losses among the activations of a forward pass."""
        return [f"{LOSS}{name}" for name in self.design.losses]

    @property
    def kernel_parts(self) -> list[str]:
        """The parts of our kernels that it calls, if they take long to compile."""
        return kernel_parts(self.design.layers, self.activation.randomised)

    @property
    def learned_by_activation(self) -> frozenset[str]:
        """The names of the parameters that belong to the activation; all others belong to a layer."""
        return frozenset(parameter for names in self._learned_names.values() for parameter in names.values())

    @property
    def switches(self) -> frozenset[str]:
        """The names of the parameters that say which experts are open: neither learned nor drawn."""
        routers = [layer for layer in self.design.layers if isinstance(layer, StackedRouter) and layer.prunable]
        return frozenset(f"{router.name}.open" for router in routers)

    def learned(self, values: Mapping[str, Value]) -> Mapping[str, Value]:
        """The entries, by parameter, without frozen ones: no gradient, moment, decay or penalty changes those."""
        if self.network.change is None and not self.statistics:
            return values
        return {name: value for name, value in values.items() if not self._is_frozen(name)}

    def frozen(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """The entries of frozen parameters alone."""
        if self.network.change is None and not self.statistics:
            return {}
        return {name: value for name, value in values.items() if self._is_frozen(name)}

    def _is_frozen(self, name: str) -> bool:
        return name in self.statistics or name.startswith(self._frozen)

    def start(self, seeds: Sequence[int], device: torch.device, *position: int) -> dict[str, Tensor]:
        """The first parameters of the pack, name → (K, ...). Each run's parameters depend only on its seed and
        settings.

        position: nothing, or the task that gets a fresh network. A layer is drawn from `host_stream(seed,
        "weights", *position, layer.name)`.
        """
        runs = [self._start_alone(run, seed, *position) for run, seed in enumerate(seeds)]
        return {name: torch.from_numpy(np.stack([run[name] for run in runs])).to(device) for name in runs[0]}

    def start_of(self, layer: Layer, run: int, draw: np.random.Generator) -> dict[str, np.ndarray]:
        """First parameters of one layer of one run, drawn from `draw`."""
        answers = {of: name.rpartition(".")[2] for name, of in self.design.outputs.items()}
        gain = self.network.gain(answers.get(layer.name), self.activations[run])
        own_name = layer.name.removeprefix(f"{self.prefix}.") if self.prefix else layer.name
        return layer.start(draw, self.network.init_of(own_name), gain)

    def owner(self, parameter: str) -> str | None:
        """The only environment that uses a parameter; None if all use it, or if there is only one."""
        return self._own.get(parameter.rpartition(".")[0])

    def active(self, values: Mapping[str, Tensor], body: str | None = None) -> dict[str, Tensor]:
        """The entries (parameters, moments, …, by parameter) that take part in training on an environment.

        The parameters of other environments must not move: they reach neither gradient, penalty nor optimizer.
        """
        taking_part = (None, body or self.only_body)
        return {name: value for name, value in values.items() if self.owner(name) in taking_part}

    def draws(self, batch: int, body: str | None = None) -> int:
        """Random numbers of one training step of one run: one for each element before an activation."""
        units = [unit for unit in self.units if unit.body in (None, body or self.only_body)]
        return sum(batch * prod(unit.produced) for unit in units) if self.activation.randomised else 0

    def noise(self, batch: int, body: str | None = None) -> int:
        """Random numbers that the noisy layers of one run take in a training pass; 0 without noisy layers."""
        return sum(layer.noise(batch) for layer in self._noisy_of(body))

    def with_noise_scope(self, scope: str) -> "Model":
        """This model with another scope of its noise (see `StackedNoisyLinear`), for the same parameters."""
        bodies = {
            body: replace(shapes, noise=shapes.noise and replace(shapes.noise, scope=scope))
            for body, shapes in self.bodies.items()
        }
        return Model(self.network, self.activations, bodies, self.prefix)

    def work(self, body: str | None = None) -> int:
        """Multiplications in a forward pass of one example of an environment."""
        taking_part = (None, body or self.only_body)

        def work(layer: Layer) -> int:
            return layer.work if self._own.get(layer.name) in taking_part else 0

        return sum(map(work, self.design.layers)) + self.held(work)

    def forward(
        self,
        parameters: Mapping[str, Tensor],
        shape: Mapping[str, Tensor],
        x_KBD: Tensor,
        uniforms: Tensor | None,
        body: str | None = None,
        noise: Tensor | None = None,
        before: dict[str, Tensor] | None = None,
        factor: Tensor | None = None,
        rows: int = 0,
        learning: Learning | None = None,
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """The outputs, name → (K, B, O), and the activations by unit name (K, B, *).

        x: float32, or uint8 pixels, which are scaled here, on their device (`of_pixels`). shape: the activation's
        settings on the run axis, name → (K,). uniforms: (K, draws(B)) in training with a randomised activation, else
        None. body: the environment; None if there is only one. noise: (K, noise(B)) if noisy layers are to be noisy,
        else None. before: a dict that receives the pre-activations, by unit name. factor: (), multiplies all
        pre-activations; None: no factor. rows: number of rows in products. If there are fewer examples, zeros are
        appended to them, or in an encoder to its feature maps, since convolutions need no padding. Outputs and
        activations have these rows too; noise has not. learning: in the loss of an update of a network with running
        statistics: its batch normalises, and receives them. None: they normalise.

        The activations also hold the losses of the network itself, by `losses`, (K,).
        """
        hidden: dict[str, Tensor] = {}
        taken = 0
        first_of: dict[int, int] = {}
        if x_KBD.dtype == torch.uint8:
            x_KBD = of_pixels(x_KBD)

        def activate(site: int, x: Tensor, by: Mapping[str, Tensor] | None = None) -> Tensor:
            nonlocal taken
            unit = self.units[site]
            x, own = unit.units_first(x if factor is None else x * factor), None
            if uniforms is not None:
                # Channels last, as in the memory of convolutions: reading the numbers in another order would cost more
                # than drawing them.
                last = (*x.shape[:2], *x.shape[3:], x.shape[2])
                first = first_of.setdefault(site, taken)
                own = uniforms[:, first : first + prod(x.shape[1:])].view(last).movedim(-1, 2)
                taken = max(taken, first + prod(x.shape[1:]))
            learned = self.learned_at(unit.name, parameters if by is None else by)
            rows = in_rows(unit, x) and isinstance(parameters, ThroughKernels)
            h = unit.experts_first(self.activation(x, Site(shape, learned, own, rows)))
            if by is not None:
                return h
            if before is not None:
                before[unit.name] = examples_first(unit, unit.experts_first(x))
            hidden[unit.name] = examples_first(unit, h)
            return h

        design = self.design if noise is None else self._with_noise(noise, x_KBD.shape[1], body)
        if learning is not None:
            design = replace(design, layers=in_update(design.layers, learning))
        if x_KBD.shape[1] < rows:
            if isinstance(self.network, Encoder) and uniforms is None:
                design = replace(design, rows=rows)
            else:
                x_KBD = pad(x_KBD, (0, 0, 0, rows - x_KBD.shape[1]))
        outputs = outputs_of(self.network, design, parameters, x_KBD, activate, body or self.only_body)
        for loss in self.design.losses:
            hidden[f"{LOSS}{loss}"] = outputs.pop(loss)
        return outputs, hidden

    def learned_at(self, unit: str, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The learned values of the activation at a unit, by the activation's names."""
        return {name: parameters[parameter] for name, parameter in self._learned_names[unit].items()}

    def _noisy_of(self, body: str | None) -> list[TakesNoise]:
        """The noisy layers in an environment's forward pass, in their order."""
        taking_part = (None, body or self.only_body)
        return [layer for name, layer in self._noisy.items() if self._own.get(name) in taking_part]

    def _with_noise(self, noise: Tensor, batch: int, body: str | None) -> Design:
        """The design with its noisy layers wrapped, each with its random numbers."""
        layers = with_noise(self.design.layers, self._noisy_of(body), noise, batch)
        return replace(self.design, layers=layers)

    def _start_alone(self, run: int, seed: int, *position: int) -> dict[str, np.ndarray]:
        values = self._drawn(run, seed, *position)
        if self.network.change is None:
            return values | self.statistics
        return values | frozen_of(self.network, self.design, values, self._drawn(run, seed, "change"))

    def _drawn(self, run: int, seed: int, *position: int | str) -> dict[str, np.ndarray]:
        """First parameters of one run, without frozen ones."""
        values: dict[str, np.ndarray] = {}
        for layer in self.design.layers:
            values |= self.start_of(layer, run, host_stream(seed, "weights", *position, layer.name))
        return values | self._learned_start(self.activations[run])

    def held(self, count: Callable[[Layer], int]) -> int:
        """The sum of a count over the frozen copies of layers."""
        return 0 if self.network.change is None else held_of(self.network, self.design, count)

    def _learned_start(self, activation: Activation) -> dict[str, np.ndarray]:
        return {
            self._learned_names[unit.name][name]: np.asarray(value.start, np.float32)
            for unit in self.units
            for name, value in activation.learnable(unit.activated[0]).items()
        }


def _learned_name(prefix: str, unit: str, name: str, shared: bool) -> str:
    if not shared:
        return f"{unit}.activation.{name}"
    return f"{prefix}.activation.{name}" if prefix else f"activation.{name}"
