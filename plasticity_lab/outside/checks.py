"""Checks of a module before it is measured: its parameters; its outputs, which must be a function of each example."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from plasticity_lab.errors import InputError
from plasticity_lab.outside.batches import Probe
from plasticity_lab.outside.calls import copied
from plasticity_lab.outside.graph import tensors_of
from plasticity_lab.outside.losses import close
from plasticity_lab.outside.passes import examples_of

BATCHES = 8
"""The number of small batches with outputs that are compared with the whole batch's."""


def plain(module: nn.Module) -> nn.Module:
    """The module inside torch.compile's, DataParallel's or DistributedDataParallel's."""
    own = getattr(module, "_orig_mod", module)
    parallel = isinstance(own, nn.DataParallel | nn.parallel.DistributedDataParallel)
    return own.module if parallel else own


def one_parameter(module: nn.Module) -> Tensor:
    """A parameter, for the module's type and device.  Raises InputError if it has none that we compute with."""
    if scripted := next(
        (name for name, own in module.named_modules() if isinstance(own, torch.jit.ScriptModule)), None
    ):
        raise InputError(f"{scripted or 'The module'} is TorchScript, which cannot be followed; measure the nn.Module.")
    named = dict(module.named_parameters())
    if lazy := [name for name, value in named.items() if is_lazy(value)]:
        raise InputError(f"{lazy[0]} is not initialised; call the module once, with a batch of inputs, before measure.")
    if meta := [name for name, value in named.items() if value.is_meta]:
        raise InputError(f"{meta[0]} is on the meta device, without values; measure a module on a CPU or GPU.")
    floats = [value for value in module.parameters() if value.is_floating_point()]
    types = sorted({str(value.dtype).removeprefix("torch.") for value in floats})
    if types not in (["float32"], ["float64"]):
        has = f"has parameters in {' and '.join(types)}" if types else "has no parameters"
        raise InputError(
            f"The module {has}; diagnostics need all of them in float32 or in float64: measure a copy, as "
            "copy.deepcopy(module).float()."
        )
    return floats[0]


def check_finite(values: Mapping[str, Any]) -> None:
    """Raises InputError for values that are not finite: a diagnostic would count their units as alive."""
    for what, all_values in values.items():
        for value in tensors_of(all_values):
            if value.is_floating_point() and (wrong := int((~value.isfinite()).sum())):
                raise InputError(
                    f"{wrong:,} of {value.numel():,} values of the {what} are not finite, so no diagnostic has a "
                    "number; measure finite inputs, by the module as it was before it diverged."
                )


def checked_outputs(module: nn.Module, probe: Probe) -> Any:
    """The module's outputs.  Raises InputError if an output depends on other examples, or differs between two calls."""
    whole, half = _outputs(module, probe.inputs), probe.examples // 2
    kept = [each.clone() for each in tensors_of(whole)]  # the module may go on to change these tensors
    if not kept:
        raise InputError("The module returns no tensor.")
    if not all(map(close, tensors_of(_outputs(module, probe.inputs)), kept)):
        raise InputError(
            "The module gives other outputs for the same inputs at each call in evaluation mode; its forward pass must "
            "not draw (F.dropout needs training=self.training), nor go on from call to call."
        )
    for chosen in (slice(half), *_few(probe.examples)):
        part = [*tensors_of(_outputs(module, examples_of(probe.inputs, chosen)))]
        by_example = [(ours, theirs) for ours, theirs in zip(part, kept, strict=False) if len(theirs) == probe.examples]
        if len(part) != len(kept) or not by_example:
            raise InputError("The module must return tensors with the examples first.")
        if not all(close(ours, theirs[chosen]) for ours, theirs in by_example):
            raise InputError(
                "The module's outputs for an example depend on the other examples in evaluation mode; diagnostics need "
                "each alone (a BatchNorm needs track_running_stats=True; a branch must not depend on the batch)."
            )
    check_finite({"module's outputs": kept})
    return whole


def _few(examples: int) -> Iterator[list[int]]:
    """Small batches, each with another first example: a forward pass may branch by its batch."""
    for first in range(0, examples, -(-examples // BATCHES)):
        yield [(first + at) % examples for at in range(min(3, examples))]


def _outputs(module: nn.Module, inputs: Any) -> Any:
    args, named = copied(inputs)
    try:
        with torch.no_grad():
            return module(*args, **named)
    except Exception as error:
        raise InputError(f"The module fails on the loader's inputs: {error}") from error
