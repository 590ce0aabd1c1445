"""Many steps of a pack in one call of our kernels, if the network is a plain stack of linear layers; and its score.

The numbers are equal, to the bit, to the numbers of the compiled `step.step_of` and `score.score_of` with our kernels.

Legend: K runs, S rows of a chunk's tables, M held-out images, C channels, D pixels, L layers, N numbers of the
    optimizer.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.agents.optimizer_step import TrainState, UpdateInputs, scheduled
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.supervised.images import Pixels
from plasticity_lab.agents.supervised.stack_activation import FUNCTIONS, name_of, settings_of
from plasticity_lab.agents.update import takes_second
from plasticity_lab.interventions.held import Held
from plasticity_lab.interventions.intervention import IN_UPDATES, Intervention
from plasticity_lab.kernels.through import prepare
from plasticity_lab.networks.model import Model
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.optimizer import Optimizer

Tensors = Mapping[str, Tensor]
SCORE = "stack_right"
"""The kernel that scores held-out images."""
KERNELS = {"linear_adam": "stack_adam", "linear_sgd": "stack_sgd"}
"""`Optimizer.kernel` → the kernel that takes many steps with it. With `HELD` it also does an intervention's work."""
HELD = "_held"
NUMBERS = "numbers"
"""In the tables of a chunk: the optimizer's numbers, (S, K, N)."""


def kernel_of(parts: Parts, model: Model, clipped: bool) -> str | None:
    """The kernel that takes many steps of these runs; None if each step is a call of the compiled graph.

    clipped: whether gradients are clipped.
    """
    if hindrance(parts, model, clipped) is not None:
        return None
    intervention, kernel = type(parts.interventions[0]), KERNELS[parts.optimizers[0].kernel or ""]
    works = any(getattr(intervention, each) is not getattr(Intervention, each) for each in IN_UPDATES)
    return f"{kernel}{HELD}" if works else kernel


def hindrance(parts: Parts, model: Model, clipped: bool) -> str | None:
    """The config group that makes each call take one step; None if a call takes many.

    clipped: whether gradients are clipped.
    """
    intervention = parts.interventions[0]
    fits = {
        "optimizer": parts.optimizers[0].kernel in KERNELS,
        "network": is_stack(model),
        "activation": name_of(model.activation) is not None and not model.learned_by_activation,
        "intervention": intervention.is_held() and not takes_second(intervention),
        "agent": not clipped,
        "perturbation": parts.perturbation is None,
        "benchmark": parts.benchmark.augmentation is None,
    }
    return next((group for group, fitting in fits.items() if not fitting), None)


def is_stack(model: Model) -> bool:
    """Whether the network is linear layers, one after the other to "logits", with an activation between them.

    The class itself declares it: a subclass may compute something else.
    """
    network, design = model.network, model.design
    return (
        vars(type(network)).get("plain_stack", False)
        and network.change is None
        and all(type(layer) is StackedLinear for layer in design.layers)
        and len(design.layers) == len(design.units) + 1
        and dict(design.outputs) == {"logits": design.layers[-1].name}
        and not (model.statistics or model.losses)
    )


class ManySteps:
    """The call for a pack. It has no numbers of the pack.  score: the part of the kernels that evaluates."""

    def __init__(self, kernel: str, model: Model, optimizer: Optimizer, pixels: Pixels, score: str = SCORE) -> None:
        prepare([kernel, score])
        self.kernel, self.optimizer = kernel, optimizer
        layers = model.design.layers
        self.layers = [layer.name for layer in layers]
        self.names = [f"{layer}.{part}" for layer in self.layers for part in ("weight", "bias")]
        self.widths = [layer.outputs for layer in layers]
        self.activation = name_of(model.activation) or ""
        self.function = list(FUNCTIONS).index(self.activation)
        self.brightness = brightness_of(pixels, int(np.prod(model.inputs[model.only_body])))

    def numbers(self, network: PackedNetwork, corrections: Tensors, steps: int) -> Tensor:
        """The optimizer's numbers in the next steps, (S, K, N).  corrections: `PackedNetwork.corrections` of them."""
        # Each run of each step counts as a run. Corrections without a run axis, such as a count, are for no kernel.
        rows = {name: value.flatten() for name, value in corrections.items() if value.dim() == 2}
        own = network.settings["optimizer"]
        settings = {name: value.expand(steps, -1).flatten() for name, value in own.items()}
        inputs = UpdateInputs({"optimizer": settings}, network.keys, network.keys, rows)
        inputs = scheduled(self.optimizer, inputs)
        found = self.optimizer.kernel_numbers(inputs.settings["optimizer"], inputs.corrections)
        return found.view(steps, -1, found.shape[1])

    def __call__(
        self, train: TrainState, activation: Tensors, keys: Tensors, images: Tensor, tables: Tensors,
        measured: Tensors, first: int, steps: int, held: Held,
    ) -> None:  # fmt: skip
        """Takes the steps for some rows of the tables, in place.

        The arguments are as in `step.step_of`. activation: the settings of the activation, (K,) each. held: the work of
        the intervention.
        """
        pulls, starts, bounds = self._held(held)
        values = (train.parameters, *(train.moments[kind] for kind in self.optimizer.moments))
        getattr(torch.ops.plasticity_lab, self.kernel)(
            images, self.brightness, tables["images"], tables["labels"], tables["weights"], tables[NUMBERS],
            self.function, settings_of(self.activation, activation), keys["activation"], tables["position"],
            self.widths, [value[name] for value in values for name in self.names],
            measured["loss"], measured["right"], pulls, starts, bounds, first, steps,
        )  # fmt: skip

    def right(self, parameters: Tensors, activation: Tensors, images: Tensor, labels_KM: Tensor) -> Tensor:
        """The number of held-out images that each run classifies correctly, (K,) int64.

        images: (K, M, D) or (1, M, D) uint8, as the first layer of the parameters reads them.
        """
        found = torch.empty(len(labels_KM), dtype=torch.int64)
        torch.ops.plasticity_lab.stack_right(
            images.contiguous(), self.brightness, labels_KM.contiguous(), self.function,
            settings_of(self.activation, activation), self.widths, [parameters[name] for name in self.names], found,
        )  # fmt: skip
        return found

    def _held(self, held: Held) -> tuple[Tensor, list[Tensor], Tensor]:
        """Factors (K,), starts like the parameters, and bounds (L, K); without numbers if the work has no such part."""
        pulls = torch.empty(0) if held.pull is None else held.pull.float()
        starts = [held.starts[name] for name in self.names] if held.starts else []
        if not held.bounds:
            return pulls, starts, torch.empty(0)
        some = next(iter(held.bounds.values()))
        bounds = [held.bounds.get(layer, torch.full_like(some, torch.inf)) for layer in self.layers]
        return pulls, starts, torch.stack(bounds).float()


def brightness_of(pixels: Pixels, count: int) -> Tensor:
    """The float of each byte in each channel, (C, 256).  count: D."""
    every_byte = torch.arange(256, dtype=torch.uint8).unsqueeze(1).expand(-1, count)
    return pixels.scaled(every_byte)[:, :: count // pixels.channels].T.contiguous()
