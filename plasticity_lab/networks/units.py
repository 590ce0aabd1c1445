"""The indices of single units in a pack's parameters, for resets of units.

A unit and a channel are a column of the weights (K, I, O) into them, an expert is a slice of (K, E, I, O). All
functions take any parameters of the network, also a target network's.

Legend: K runs, N units chosen in one run, I inputs and O outputs of a layer as stored, E experts.
"""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Unit
from plasticity_lab.stacking.experts import StackedExperts, StackedNoisyExperts
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.normed import linear_of

Units = NDArray[np.int64]
"""Numbers of units, channels or experts within a named place, 0 … produced[0] − 1."""

EXPERTS = StackedExperts, StackedNoisyExperts
"""The layers with an axis of experts in their parameters, before the axes of inputs and units."""
OF_UNITS = ("weight", "bias", "scale", "shift", "sigma", "sigma_bias")
"""The parameters of a layer that have a column for each of its units. Normalised layers have scale and shift, noisy
layers have sigmas."""
DRAWN_ANEW = ("weight", "bias", "sigma", "sigma_bias")
"""The parameters that a fresh layer replaces: all except a normalisation's, which start without randomness."""
OF_INPUTS = ("weight", "sigma")
"""The parameters of a layer that have a row for each of its inputs."""


def real_columns(model: Model) -> dict[str, int]:
    """The number of real columns along the last axis of each parameter with padding; 0 for a switch.

    Parameters without padding are absent.
    """
    found = dict.fromkeys(model.switches, 0)
    for layer in model.design.layers:
        linear = getattr(linear_of(layer), "linear", linear_of(layer))
        if isinstance(linear, StackedLinear) and linear.padded > linear.outputs:
            found |= {f"{layer.name}.{part}": linear.outputs for part in DRAWN_ANEW}
    return found


def taking_part(unit: Unit, parameters: Mapping[str, Tensor]) -> bool:
    """Whether a unit's parameters are active. The functions below change nothing for units of idle environments."""
    return f"{unit.incoming}.weight" in parameters


def before_outputs(model: Model, parameters: Mapping[str, Tensor]) -> list[Unit]:
    """The active units that an output layer reads: no activation follows that layer, and it is not in an encoder."""
    encoder, _ = model.design.encoded
    followed = {unit.incoming for unit in model.units} | {layer.name for layer in model.design.layers[:encoder]}
    return [
        unit
        for unit in model.units
        if taking_part(unit, parameters) and any(layer not in followed for layer in unit.outgoing)
    ]


def read_by_outputs(model: Model, parameters: Mapping[str, Tensor]) -> list[Unit]:
    """`before_outputs`, at least one.  Raises ConfigError if the network names none."""
    if found := before_outputs(model, parameters):
        return found
    raise ConfigError(
        "The intervention reads the values that the output layers read, and no unit of the network "
        f"{type(model.network).__name__} has an output layer in its `outgoing`; choose a network with a hidden layer "
        "before its outputs, or name the output layers there."
    )


def passed_on(model: Model, unit: Unit) -> int:
    """The number of values (for channels: maps, for experts: experts) that the activation passes on at a place."""
    times = model.activation.expansion
    return unit.produced[0] if unit.kind == "expert" else unit.produced[0] * times.numerator // times.denominator


def outgoing_rows(model: Model, unit: Unit, layer: str, chosen: Units) -> Units:
    """The rows of a following layer's weight that multiply the values passed on by the chosen units.

    They are indices along `outgoing_axis`. A channel is a block of rows: one for each of its pixels, or for each number
    of a patch. An expert is a block with one row for each of its units; if another layer of experts follows, it is one
    slice of this layer. If the activation passes on several values for a unit, each value has its rows. If two units
    make one value (gates), the rows of that value belong to both.
    """
    produced, passed = unit.produced[0], passed_on(model, unit)
    inputs = layer_inputs(model, unit, layer)
    blocks = np.arange(inputs) // (inputs // passed)
    # First the units' own values are passed on, then the values of the next function: block b belongs to unit b mod N.
    of_unit = blocks % produced if passed >= produced else blocks
    wanted = chosen if passed >= produced else chosen % passed
    return np.flatnonzero(np.isin(of_unit, wanted))


def outgoing_axis(model: Model, unit: Unit, layer: str) -> int:
    """The axis of the rows in one run's weight of a following layer: (I, O), or for experts (E, I, O)."""
    return 1 if isinstance(model.design.layer(layer), EXPERTS) and unit.kind != "expert" else 0


def layer_inputs(model: Model, unit: Unit, layer: str) -> int:
    """The rows of a following layer's weight, along `outgoing_axis`."""
    found = model.design.layer(layer)
    if isinstance(found, EXPERTS) and unit.kind == "expert":
        return found.experts
    return getattr(found, "linear", found).inputs


def cut_off(model: Model, parameters: Mapping[str, Tensor], run: int, unit: Unit, chosen: Units) -> None:
    """Sets to zero, in place, the weights of following layers for the chosen units of one run.

    parameters: the active ones (`Model.active`). The weights of idle environments' heads do not change.
    """
    for layer in unit.outgoing if taking_part(unit, parameters) else ():
        rows = torch.from_numpy(outgoing_rows(model, unit, layer, chosen))
        for name in parameters.keys() & {f"{layer}.{part}" for part in OF_INPUTS}:
            weight = parameters[name]
            weight[run].index_fill_(outgoing_axis(model, unit, layer), rows.to(weight.device), 0.0)


def forget(
    model: Model,
    moments: Mapping[str, Mapping[str, Tensor]],
    run: int,
    unit: Unit,
    chosen: Units,
    outgoing: bool = True,
) -> None:
    """Sets moments of the chosen units of one run to zero, in place: for incoming weights and biases; with `outgoing`,
    also for outgoing weights.
    """
    for own in moments.values():
        if outgoing:
            cut_off(model, own, run, unit, chosen)
        names = [f"{unit.incoming}.{part}" for part in OF_UNITS] if taking_part(unit, own) else []
        for name in own.keys() & names:
            own[name][run].index_fill_(_axis(unit), torch.from_numpy(chosen).to(own[name].device), 0.0)


def start_anew(
    model: Model,
    parameters: Mapping[str, Tensor],
    run: int,
    unit: Unit,
    chosen: Units,
    draw: np.random.Generator,
    biases: bool = True,
) -> None:
    """Draws fresh incoming weights for the chosen units of one run, in place, from the layer's initial distribution.

    biases: whether their biases are drawn too; otherwise they become zero.
    """
    fresh = model.start_of(model.design.layer(unit.incoming), run, draw) if taking_part(unit, parameters) else {}
    for name, values in fresh.items():
        own = parameters[name]
        if name == f"{unit.incoming}.bias" and not biases:
            values = np.zeros_like(values)
        at, of_units = torch.from_numpy(chosen).to(own.device), torch.from_numpy(values.take(chosen, _axis(unit)))
        own[run].index_copy_(_axis(unit), at, of_units.to(own.device))


def _axis(unit: Unit) -> int:
    """The axis of units in one run's weights and biases of the layer before them."""
    return 0 if unit.kind == "expert" else 1
