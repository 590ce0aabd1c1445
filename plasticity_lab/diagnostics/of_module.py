"""Diagnostics of any torch module, on the batches of a data loader.

from plasticity_lab.diagnostics.of_module import measure

found = measure(module, loader)  # column → number, as docs/diagnostics.md has them

Legend: B examples, O outputs.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from plasticity_lab.diagnostics.curvature import Curvature
from plasticity_lab.diagnostics.dead_units import DeadUnits
from plasticity_lab.diagnostics.diagnostic import Diagnostic
from plasticity_lab.diagnostics.dormant_units import DormantUnits
from plasticity_lab.diagnostics.duplicate_units import DuplicateUnits
from plasticity_lab.diagnostics.feature_rank import FeatureRank
from plasticity_lab.diagnostics.gradient_noise import GradientNoise
from plasticity_lab.diagnostics.gradient_rank import GradientRank
from plasticity_lab.diagnostics.grama import GraMa
from plasticity_lab.diagnostics.learned_slopes import LearnedSlopes
from plasticity_lab.diagnostics.module_network import ModuleNetwork
from plasticity_lab.diagnostics.negative_slope import NegativeSlope
from plasticity_lab.diagnostics.saturated import Saturated
from plasticity_lab.diagnostics.view import View
from plasticity_lab.diagnostics.zero_gradient_units import ZeroGradientUnits
from plasticity_lab.errors import InputError
from plasticity_lab.networks.model import Model

OF_ONE_MOMENT = (DeadUnits, DormantUnits, DuplicateUnits, Saturated, NegativeSlope, FeatureRank, LearnedSlopes, GraMa,
                 ZeroGradientUnits, GradientNoise, GradientRank, Curvature)  # fmt: skip
"""Those that need no look before."""
Loss = Callable[[Tensor, Tensor], Tensor]
"""(outputs (B, O), what the loader gives beside the inputs) → the loss of each example, (B,)."""


def each_cross_entropy(outputs: Tensor, labels: Tensor) -> Tensor:
    """Of each example alone."""
    return cross_entropy(outputs, labels, reduction="none")


def measure(
    module: nn.Module,
    loader: Iterable[Any],
    diagnostics: Iterable[Diagnostic] | None = None,
    loss: Loss = each_cross_entropy,
    most: int = 256,
) -> dict[str, float]:
    """What diagnostics see of a module: column → number.

    loader: gives pairs (inputs, targets), first axis the examples; the first `most` are the probe, in evaluation mode.
    diagnostics: None for `OF_ONE_MOMENT` with the settings that they have by default. The module is left as it was. Its
    activations must be modules of one kind (nn.ReLU, …), since what a forward pass calls by itself is not seen; linear
    layers, and convolutions that are not grouped or dilated, are looked into.

    Raises InputError for a module or a loader that does not fit; ConfigError for a setting that names no layer of it.
    """
    x, targets = _probe(loader, most)
    like = next(module.parameters())
    x, targets, was_training = x.to(like.device, like.dtype), targets.to(like.device), module.training
    module.eval()
    try:
        network = ModuleNetwork(module, x)
        model = cast(Model, network)

        def losses(parameters: Mapping[str, Tensor], batch: Mapping[str, Tensor]) -> Tensor:
            outputs = network.forward_pass(parameters, batch["x"])[0]["output"][0]
            return loss(outputs, batch["targets"][0]).unsqueeze(0)

        probe = {"x": x.unsqueeze(0), "targets": targets.unsqueeze(0)}
        view = View(model, network.parameters(), network.settings(), [0], losses, probe)
        chosen = [each() for each in OF_ONE_MOMENT] if diagnostics is None else list(diagnostics)
        found: dict[str, float] = {}
        for each in chosen:
            if each.applies_to(model):
                seen = each.look(replace(view, state=each.start(view)))
                found |= {name.replace(".", "_"): value.double().item() for name, value in seen.items()}
        return found
    finally:
        module.train(was_training)


def _probe(loader: Iterable[Any], most: int) -> tuple[Tensor, Tensor]:
    """The first examples, at most that many."""
    inputs, targets, there = [], [], 0
    for batch in loader:
        if not isinstance(batch, tuple | list) or len(batch) != 2:
            raise InputError("The loader must give pairs: inputs and targets, tensors with the examples first.")
        inputs.append(batch[0])
        targets.append(batch[1])
        there += len(batch[0])
        if there >= most:
            break
    if there < 2:
        raise InputError(f"The loader gives {there} examples; at least 2 are needed.")
    return torch.cat(inputs)[:most], torch.cat(targets)[:most]
