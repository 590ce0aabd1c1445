"""Diagnostics of any torch module, on the batches of a data loader.

from plasticity_lab.outside import measure

found = measure(module, loader)  # column → number, as docs/pages/reference/diagnostics.md explains them
"""

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

import torch
from torch import fx, nn

from plasticity_lab.diagnostics.diagnostic import Diagnostic
from plasticity_lab.errors import InputError
from plasticity_lab.networks.model import Model
from plasticity_lab.outside.batches import Probe, probe_of
from plasticity_lab.outside.calls import copied
from plasticity_lab.outside.checks import check_finite, checked_outputs, one_parameter, plain
from plasticity_lab.outside.chosen import diagnostics_of, fitted
from plasticity_lab.outside.graph import recorded
from plasticity_lab.outside.losses import Loss, close, each_cross_entropy, loss_of_each
from plasticity_lab.outside.network import ModuleNetwork
from plasticity_lab.outside.passes import Passes, examples_of
from plasticity_lab.outside.restored import as_it_was
from plasticity_lab.outside.view import ModuleView, view_of
from plasticity_lab.outside.written import activation_modules

TRACING, HOOKS = "tracing", "hooks"
"""In `Measured.by`: torch.fx follows the whole forward pass, so that its calls are the same for all inputs; or it does
not, and the calls are the ones with this probe."""


class Measured(dict[str, float]):
    """Column → number.

    by: TRACING or HOOKS. places: the places of units, in the order of the forward pass. left_out: diagnostic → the
    reason why it has no numbers, if `measure` chose the diagnostics.
    """

    def __init__(self, by: str, places: list[str]) -> None:
        super().__init__()
        self.by, self.places, self.left_out = by, places, dict[str, str]()

    def __missing__(self, name: str) -> float:
        """Raises KeyError with the reasons."""
        reasons = "".join(f" {diagnostic} is left out: {words}" for diagnostic, words in self.left_out.items())
        raise KeyError(f"{name} was not measured; there are {', '.join(self)}.{reasons}")


def measure(
    module: nn.Module,
    data: Iterable[Any],
    diagnostics: Iterable[Diagnostic | str] | None = None,
    loss: Loss = each_cross_entropy,
    most: int = 256,
    targets: str | None = None,
) -> Measured:
    """The values of diagnostics for a module: column → number.

    data: batches, (inputs, targets) or (input, further input, …, targets), or mappings; the first axis of each tensor
    counts examples. The first `most` are the probe, in evaluation mode. targets: the key of the targets in mappings.
    Inputs that are floats are converted to the type of the parameters. diagnostics: objects or names; None for all that
    need no earlier measurement and have numbers for this module. loss: (outputs, targets) → one number per example,
    (B,), or a loss of torch.nn that averages over the examples, taken without its reduction. The module and the global
    random number generators are left as they were.

    Raises InputError for a module, data or a loss that do not fit, and for values that are not finite; ConfigError for
    a setting that names no layer.
    """
    module, chosen = plain(module), diagnostics_of(diagnostics)
    like = one_parameter(module)
    with as_it_was(module):
        probe = probe_of(data, most, targets, like)
        try:
            passes = _passes(module, probe, loss)
        except RuntimeError as error:
            raise InputError(_sentence("the gradients", error)) from error
        view = view_of(passes)
        found = Measured(_followed_by(module), [place.name for place in passes.network.places])
        for name, each in chosen:
            try:
                _add(found, each, view, passes)
            except (InputError, RuntimeError) as error:
                reason = error if isinstance(error, InputError) else InputError(_sentence(name, error))
                if diagnostics is not None or not passes.network.places:
                    raise reason from error
                found.left_out[name] = str(reason)
        return found


def _add(found: Measured, diagnostic: Diagnostic, view: ModuleView, passes: Passes) -> None:
    """Measures one diagnostic."""
    diagnostic, fit = fitted(diagnostic, passes.network, view.parameters)
    if fit is None:
        return
    # Results that other diagnostics share belong to all places.
    own = view if fit is passes.network else replace(view, model=cast(Model, fit), found={})
    own = replace(own, state=diagnostic.start(own))
    try:
        seen = diagnostic.look(own)
    except RuntimeError as error:
        if passes.copies or not _needs_copies(error):
            raise
        passes.copies = True
        seen = diagnostic.look(own)
    values = {name.replace(".", "_"): value.double().item() for name, value in seen.items()}
    if twice := sorted(found.keys() & values.keys()):
        raise InputError(f"{twice[0]} would be measured twice; call measure once for each of the two.")
    found |= values


def _sentence(name: str, error: RuntimeError) -> str:
    words = str(error).strip().splitlines()[0].partition(". ")[0].rstrip(".")
    return f"torch cannot compute {name} of this module: {words}."


def _passes(module: nn.Module, probe: Probe, loss: Loss) -> Passes:
    """The module with its graph and its loss, all checked."""
    check_finite({"inputs": probe.inputs})
    outputs = checked_outputs(module, probe)
    each_loss = loss_of_each(loss, outputs, probe.targets, probe.examples)
    buffers = {name: value.detach().clone() for name, value in module.named_buffers()}
    values = {
        name: value.detach().requires_grad_(value.is_floating_point()) for name, value in module.named_parameters()
    }
    graph, _ = recorded(module, {**values, **buffers}, copied(probe.inputs), probe.examples)
    if written := activation_modules(module, graph.written):
        graph, _ = recorded(module, {**values, **buffers}, copied(probe.inputs), probe.examples, written)
    network, inputs = ModuleNetwork(module, graph), probe.inputs
    passes = Passes(module, network, graph, inputs, probe.targets, each_loss, probe.examples, buffers, written)
    return _checked(passes, each_loss(outputs, probe.targets).detach())


def _checked(passes: Passes, expected: torch.Tensor) -> Passes:
    """The passes, checked.

    expected: the losses by the module's own forward pass. Raises InputError if they differ, or if values of an example
    depend on other ones.
    """
    own, half = passes.network.start([0], torch.device("cpu")), passes.examples // 2
    if passes.graph.in_place:
        try:
            passes.gradients(own)
        except RuntimeError as error:
            if not _needs_copies(error):
                raise
            passes.copies = True
    inputs, targets = (examples_of(value, slice(half)) for value in (passes.inputs, passes.targets))
    with torch.no_grad():
        losses = passes.losses(own)[0]
        of_half = passes.one({name: value[0] for name, value in own.items()}, inputs, targets)
    if not close(losses, expected):
        raise InputError("The module's loss is another one if its calls are followed; diagnostics cannot measure it.")
    if not close(of_half, losses[:half]):
        raise InputError("The loss of an example depends on the other examples; it must not.")
    whole = passes.forward(own, passes.inputs, passes.examples)[0].hidden
    check_finite({f"activations of {name}": value for name, value in whole.items()})
    for name, value in passes.forward(own, inputs, half)[0].hidden.items():
        if not close(value[0], whole[name][0, :half]):
            raise InputError(f"The values of {name} for an example depend on the other examples in evaluation mode.")
    return passes


def _needs_copies(error: RuntimeError) -> bool:
    """Whether the module changes values in place that a gradient needs."""
    return "modified by an inplace operation" in str(error)


def _followed_by(module: nn.Module) -> str:
    """TRACING if torch.fx can follow the forward pass, HOOKS if not."""
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            fx.Tracer().trace(module)
    except Exception:  # whatever a forward pass does with values that are not numbers
        return HOOKS
    return TRACING
