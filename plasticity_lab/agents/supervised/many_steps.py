"""Many steps of a pack in one call of our kernels, if the network is a plain stack of linear layers.

The numbers are equal, to the bit, to the numbers of the compiled `step.step_of` with our kernels.

Legend: K runs, S rows of a chunk's tables, C channels, D pixels, N numbers of the optimizer.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.agents.optimizer_step import TrainState, UpdateInputs, scheduled
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.supervised.images import Pixels
from plasticity_lab.agents.update import fuses, takes_second
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.kernels.through import prepare
from plasticity_lab.networks.model import Model
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.optimizer import Optimizer

Tensors = Mapping[str, Tensor]
KERNELS = {"linear_adam": "stack_adam", "linear_sgd": "stack_sgd"}
"""`Optimizer.kernel` → the kernel that takes many steps with it."""
NUMBERS = "numbers"
"""In the tables of a chunk: the optimizer's numbers, (S, K, N)."""


def kernel_of(parts: Parts, model: Model, clipped: bool) -> str | None:
    """The kernel that takes many steps of these runs; None if each step is a call of the compiled graph.

    clipped: whether gradients are clipped.
    """
    optimizer, intervention = parts.optimizers[0], parts.interventions[0]
    fits = (
        is_bent_stack(model)
        and fuses(optimizer, intervention, clipped)
        and leaves_steps(intervention)
        and not takes_second(intervention)
        and parts.perturbation is None
        and parts.benchmark.augmentation is None
    )
    return KERNELS.get(optimizer.kernel or "") if fits else None


def is_bent_stack(model: Model) -> bool:
    """Whether the network is linear layers, one after the other to "logits", and ReLU or Leaky-ReLU between them.

    The classes themselves declare it: a subclass may compute something else.
    """
    network, design = model.network, model.design
    return (
        vars(type(network)).get("plain_stack", False)
        and vars(type(model.activation)).get("bent") is not None
        and network.change is None
        and all(type(layer) is StackedLinear for layer in design.layers)
        and len(design.layers) == len(design.units) + 1
        and dict(design.outputs) == {"logits": design.layers[-1].name}
        and not (model.statistics or model.losses or model.learned_by_activation)
    )


def leaves_steps(intervention: Intervention) -> bool:
    """Whether an intervention works between steps only, so that steps do not depend on it."""
    plain = all(getattr(type(intervention), each) is getattr(Intervention, each) for each in ("after_step", "ages"))
    watches = intervention.watches_units or intervention.watches_outputs
    return plain and not (watches or intervention.learned or intervention.needs_step or intervention.needs_before)


class ManySteps:
    """The call for a pack. It has no numbers of the pack."""

    def __init__(self, kernel: str, model: Model, optimizer: Optimizer, pixels: Pixels) -> None:
        prepare([kernel, "linear"])
        self.kernel, self.optimizer = kernel, optimizer
        layers = model.design.layers
        self.names = [f"{layer.name}.{part}" for layer in layers for part in ("weight", "bias")]
        self.widths = [layer.outputs for layer in layers]
        self.slope = vars(type(model.activation))["bent"]
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
        self, train: TrainState, activation: Tensors, images: Tensor, tables: Tensors, measured: Tensors,
        first: int, steps: int,
    ) -> None:  # fmt: skip
        """Takes the steps for some rows of the tables, in place.

        The arguments are as in `step.step_of`. activation: the settings of the activation, (K,) each.
        """
        values = (train.parameters, *(train.moments[kind] for kind in self.optimizer.moments))
        slopes = activation[self.slope].float() if self.slope else torch.empty(0)
        getattr(torch.ops.plasticity_lab, self.kernel)(
            images, self.brightness, tables["images"], tables["labels"], tables["weights"], tables[NUMBERS], slopes,
            self.widths, [value[name] for value in values for name in self.names],
            measured["loss"], measured["right"], first, steps,
        )  # fmt: skip


def brightness_of(pixels: Pixels, count: int) -> Tensor:
    """The float of each byte in each channel, (C, 256).  count: D."""
    every_byte = torch.arange(256, dtype=torch.uint8).unsqueeze(1).expand(-1, count)
    return pixels.scaled(every_byte)[:, :: count // pixels.channels].T.contiguous()
