"""Refusals: interventions that a module or an optimizer cannot have."""

from collections.abc import Collection

import torch
from torch import nn

from plasticity_lab.errors import InputError
from plasticity_lab.interventions.nap import NormalizeAndProject
from plasticity_lab.outside.plastic import names
from plasticity_lab.outside.plastic.layout import Layout, OtherConv, Table
from plasticity_lab.outside.plastic.units import Places
from plasticity_lab.stacking.normed import StackedNormed, linear_of

HOMOGENEOUS = {"relu", "leaky_relu", "prelu", "rrelu", "clamp", "clamp_min"}


def trained(
    module: nn.Module, optimizers: Collection[torch.optim.Optimizer], leave: Collection[str]
) -> dict[int, torch.optim.Optimizer]:
    """id of each parameter to include → its optimizer.

    Raises InputError if no parameter is trained, or for parameters in float64.
    """
    own = {id(value): name for name, value in module.named_parameters() if value.requires_grad}
    own = {key: name for key, name in own.items() if not any(f"{name}.".startswith(f"{each}.") for each in leave)}
    found = {
        id(value): optimizer
        for optimizer in optimizers
        for group in optimizer.param_groups
        for value in group["params"]
        if id(value) in own
    }
    if not found:
        raise InputError("The optimizer trains no parameter of the module; give it model.parameters().")
    double = [own[id(value)] for value in module.parameters() if id(value) in found and value.dtype == torch.float64]
    if double:
        raise InputError(f"{double[0]} is float64; interventions compute in float32: use model.float().")
    return found


def check_layers(chosen: Collection[str], layout: Layout) -> None:
    """Raises InputError if an intervention treats layers by a structure that one of them does not have."""
    for name in chosen:
        if name in names.OF_LAYERS and layout.loose:
            first = layout.loose[0]
            raise InputError(
                f"{name} does not know the structure of {first}, which belongs to no linear layer, convolution, "
                f"embedding, attention or recurrent module; leave it alone by "
                f"leave=['{first.rpartition('.')[0] or first}']."
            )
        for layer, own in layout.layers.items():
            linear = linear_of(own)
            kernel, grouped = isinstance(linear, OtherConv), getattr(linear, "groups", 1) > 1
            why = ""
            if isinstance(linear, Table) and name in names.OF_MATRICES:
                why = "is an embedding, and no matrix of inputs and outputs"
            elif kernel and (name in names.OF_WHOLE_KERNELS or (grouped and name in names.NOT_OF_GROUPS)):
                why = "is a convolution with groups, or a kernel that is no square"
            if why:
                raise InputError(f"{name} cannot treat {layer}, which {why}; leave it alone by leave=['{layer}'].")


def check_leave(leave: Collection[str], module: nn.Module, places: Places) -> None:
    """Raises InputError for a name that nothing has."""
    known = {name for name, _ in (*module.named_modules(), *module.named_parameters())} | places.alone.keys()
    parts = {name.rpartition(".")[0] for name, _ in module.named_parameters()}
    for name in leave:
        if name not in known | parts:
            raise InputError(f"leave names '{name}', and no module, parameter or place has this name.")


def check_norms(nap: NormalizeAndProject, layout: Layout, places: Places, functions: Collection[str]) -> None:
    """Raises InputError unless each activation follows a normalisation, and is homogeneous if that is needed.

    functions: the activations of the forward pass.
    """
    for unit in places.units:
        if unit.is_sum or not isinstance(layout.layers[unit.incoming], StackedNormed):
            raise InputError(
                f"nap needs a normalisation directly before each activation, and {unit.name} has none; leave its layer "
                f"alone by leave=['{unit.incoming}'], or choose another intervention."
            )
    others = sorted({name for name in functions if name.removesuffix("_") not in HOMOGENEOUS})
    if nap.affine == "project" and others:
        raise InputError(
            f"nap scales a normalisation's output, and {others[0]} is not homogeneous, as φ(2x) is not 2φ(x); choose "
            "affine='pull'."
        )
