"""Diagnostics of any torch module, on the batches of a data loader.

from plasticity_lab.outside import measure

found = measure(module, loader)  # column → number, as docs/diagnostics.md has them

Legend: B examples, O outputs.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor, nn

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
from plasticity_lab.diagnostics.negative_slope import NegativeSlope
from plasticity_lab.diagnostics.saturated import Saturated
from plasticity_lab.diagnostics.view import View
from plasticity_lab.diagnostics.zero_gradient_units import ZeroGradientUnits
from plasticity_lab.errors import InputError
from plasticity_lab.networks.model import Model
from plasticity_lab.outside.losses import Loss, close, each_cross_entropy, loss_of_each
from plasticity_lab.outside.network import ModuleNetwork

OF_ONE_MOMENT = (DeadUnits, DormantUnits, DuplicateUnits, Saturated, NegativeSlope, FeatureRank, LearnedSlopes, GraMa,
                 ZeroGradientUnits, GradientNoise, GradientRank, Curvature)  # fmt: skip
"""Diagnostics that need no earlier measurement."""


def measure(
    module: nn.Module,
    loader: Iterable[Any],
    diagnostics: Iterable[Diagnostic] | None = None,
    loss: Loss = each_cross_entropy,
    most: int = 256,
) -> dict[str, float]:
    """The values of diagnostics for a module: column → number.

    loader: gives pairs (inputs, targets), first axis the examples; the first `most` are the probe, in evaluation mode.
    Inputs that are floats are converted to the type of the parameters. diagnostics: None for `OF_ONE_MOMENT` with their
    default settings. loss: one number per example, (B,), or a loss of torch.nn, taken without its reduction. The
    module is left as it was. Its activations must be modules of one kind (nn.ReLU, …) with the same settings; one such
    module may be called at several places, and may work in place. Linear layers with one row
    for each example, and convolutions without groups and dilation, are looked into; gradients of single examples leave
    out all other layers.

    Raises InputError for a module, a loader or a loss that does not fit, and for values that are not finite;
    ConfigError for a setting that names no layer.
    """
    with _as_it_was(module):
        like = _parameter(module)
        x, targets = _probe(loader, most)
        x, targets = x.to(like.device, like.dtype if x.is_floating_point() else None), targets.to(like.device)
        outputs = _outputs(module, x)
        _check_finite({"inputs": x, "module's outputs": outputs})
        each_loss = loss_of_each(loss, outputs, targets)
        network = ModuleNetwork(module, x)
        model = cast(Model, network)
        view = _view(network, x, targets, outputs, each_loss)
        _check_calls(module, network, view)
        _check_finite({f"activations of {name}": value for name, value in view.forward().hidden.items()})
        chosen = [each() for each in OF_ONE_MOMENT] if diagnostics is None else list(diagnostics)
        found: dict[str, float] = {}
        for each in chosen:
            if each.applies_to(model):
                seen = each.look(replace(view, state=each.start(view)))
                own = {name.replace(".", "_"): value.double().item() for name, value in seen.items()}
                if twice := sorted(found.keys() & own.keys()):
                    raise InputError(f"{twice[0]} would be measured twice; call measure once for each of the two.")
                found |= own
        return found


def _view(network: ModuleNetwork, x: Tensor, targets: Tensor, outputs: Tensor, loss: Loss) -> View:
    """The module as diagnostics see it.  Raises InputError if its layers one by one give other outputs."""

    def losses(parameters: Mapping[str, Tensor], batch: Mapping[str, Tensor]) -> Tensor:
        outputs = network.forward_pass(parameters, batch["x"])[0]["output"][0]
        return loss(outputs, batch["targets"][0]).unsqueeze(0)

    probe = {"x": x.unsqueeze(0), "targets": targets.unsqueeze(0)}
    view = View(cast(Model, network), network.parameters(), network.settings(), [0], losses, probe)
    with torch.no_grad():
        if not close(view.forward().outputs["output"][0], outputs):
            raise InputError(
                "The module's outputs differ from the outputs of its layers and activations one by one, as "
                "diagnostics compute them; its forward pass must call its submodules, and these their own forward."
            )
    return view


def _parameter(module: nn.Module) -> Tensor:
    """A parameter, for the module's type and device.  Raises InputError if it has none that we compute with."""
    floats = [value for value in module.parameters() if value.is_floating_point()]
    types = sorted({str(value.dtype).removeprefix("torch.") for value in floats})
    if types not in (["float32"], ["float64"]):
        has = f"has parameters in {' and '.join(types)}" if types else "has no parameters"
        raise InputError(
            f"The module {has}; diagnostics need all of them in float32 or in float64: measure a copy, as "
            "copy.deepcopy(module).float()."
        )
    return floats[0]


def _probe(loader: Iterable[Any], most: int) -> tuple[Tensor, Tensor]:
    """The first examples, at most that many."""
    inputs, targets, there = [], [], 0
    for batch in loader:
        pair = isinstance(batch, tuple | list) and len(batch) == 2
        if not pair or not all(isinstance(each, Tensor) and each.dim() for each in batch):
            raise InputError("The loader must give pairs: inputs and targets, tensors with the examples first.")
        if len(batch[0]) != len(batch[1]):
            raise InputError(
                f"The loader gives {len(batch[0])} inputs with {len(batch[1])} targets; there must be one for each."
            )
        inputs.append(batch[0].detach())
        targets.append(batch[1].detach())
        there += len(batch[0])
        if there >= most:
            break
    if min(there, most) < 2:
        raise InputError(f"The loader gives {there} examples, and up to {most} are taken; at least 2 are needed.")
    return torch.cat(inputs)[:most], torch.cat(targets)[:most]


@contextmanager
def _as_it_was(module: nn.Module) -> Iterator[None]:
    """In evaluation mode inside the context; afterwards the module's earlier modes and values are restored.

    Inside, gradients are enabled and autocast is off, regardless of the caller's settings.
    """
    modes = [(own, own.training) for own in module.modules()]
    kept = [(value, value.detach().clone()) for value in (*module.parameters(), *module.buffers())]
    module.eval()
    devices = {value.device.type for value, _ in kept} or {"cpu"}
    try:
        with torch.inference_mode(False), torch.enable_grad(), ExitStack() as settings:
            for device in devices:
                settings.enter_context(torch.autocast(device, enabled=False))
            yield
    finally:
        for own, training in modes:
            own.training = training
        with torch.no_grad():
            for value, before in kept:
                if not torch.equal(value, before):  # else a graph that the user still needs would count as changed
                    value.copy_(before)


def _outputs(module: nn.Module, x: Tensor) -> Tensor:
    """The module's outputs.  Raises InputError if an output depends on other examples, or differs between two calls."""

    def outputs(x: Tensor) -> Tensor:
        try:
            with torch.no_grad():
                found = module(x.clone())
        except Exception as error:
            raise InputError(f"The module fails on the loader's inputs: {error}") from error
        if not isinstance(found, Tensor) or found.shape[:1] != x.shape[:1]:
            raise InputError("The module must give one tensor, with the examples first.")
        return found

    whole, half = outputs(x), len(x) // 2
    if not close(outputs(x), whole):
        raise InputError(
            "The module gives other outputs for the same inputs at each call in evaluation mode; its forward pass must "
            "not draw (F.dropout needs training=self.training), nor go on from call to call."
        )
    if not close(outputs(x[:half]), whole[:half]):
        raise InputError(
            "The module's outputs for an example depend on the other examples in evaluation mode; diagnostics need "
            "each alone (a BatchNorm needs track_running_stats=True)."
        )
    return whole


def _check_finite(values: Mapping[str, Tensor]) -> None:
    """Raises InputError for values that are not finite: a diagnostic would count their units as alive."""
    for what, value in values.items():
        if wrong := int((~value.isfinite()).sum()):
            raise InputError(
                f"{wrong:,} of {value.numel():,} values of the {what} are not finite, so no diagnostic has a number; "
                "measure finite inputs, by the module as it was before it diverged."
            )


def _check_calls(module: nn.Module, network: ModuleNetwork, view: View) -> None:
    """Raises InputError if a layer takes part without being called: diagnostics would miss its gradients."""
    called = {layer.name for layer in network.design.layers}
    left = [name for name, own in module.named_modules() if type(own) in (nn.Linear, nn.Conv2d) and name not in called]
    for name in left:
        own = {f"{name}.weight": view.parameters[f"{name}.weight"].clone().requires_grad_()}
        total = view.losses({**view.parameters, **own}).sum()
        if total.requires_grad and torch.autograd.grad(total, [*own.values()], allow_unused=True)[0] is not None:
            raise InputError(f"The weights of {name} are used without a call of it; diagnostics need the call.")
