"""Where the numbers of single units lie in a pack's parameters: what resets of units are written with.

A unit and a channel are a column of the weights (K, I, O) into them, an expert is a slice of (K, E, I, O). All
functions take any parameters of the network, those of a target network too.
Legend: K runs, N units chosen in one run, I inputs and O outputs of a layer as stored, E experts.
"""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Unit
from plasticity_lab.stacking.experts import StackedExperts, StackedNoisyExperts

Units = NDArray[np.int64]
"""Numbers of units, channels or experts within a named place, 0 … produced[0] − 1."""

EXPERTS = StackedExperts, StackedNoisyExperts
"""The layers whose numbers have an axis of experts, before those of inputs and units."""
OF_UNITS = ("weight", "bias", "scale", "shift", "sigma", "sigma_bias")
"""The parameters of a layer that have a column for each of its units: scale and shift of one that is normalised, sigmas
of one that is noisy."""
DRAWN_ANEW = ("weight", "bias", "sigma", "sigma_bias")
"""Those that a fresh layer replaces: all but those that start without randomness and belong to a normalisation."""
OF_INPUTS = ("weight", "sigma")
"""Those that have a row for each of its inputs."""


def taking_part(unit: Unit, parameters: Mapping[str, Tensor]) -> bool:
    """Whether a unit is among those that are active: of one that belongs to an idle body nothing is changed below."""
    return f"{unit.incoming}.weight" in parameters


def passed_on(model: Model, unit: Unit) -> int:
    """How many values (of channels: maps, of experts: experts) the activation passes on at a place."""
    times = model.activation.expansion
    return unit.produced[0] if unit.kind == "expert" else unit.produced[0] * times.numerator // times.denominator


def outgoing_rows(model: Model, unit: Unit, layer: str, chosen: Units) -> Units:
    """The rows of a following layer's weight that what the chosen units pass on is multiplied with.

    They lie along `outgoing_axis`. A channel is a block of rows: one for each of its pixels, or for each number of a
    patch; so is an expert, one for each of its units, and before another layer of experts it is one of these. Where the
    activation passes on several values for a unit, each has its rows; where two units make one value (gates), both have
    its rows.
    """
    produced, passed = unit.produced[0], passed_on(model, unit)
    inputs = layer_inputs(model, unit, layer)
    blocks = np.arange(inputs) // (inputs // passed)
    # The values passed on are the units' own, then those of the next function of them: block b is of unit b mod N.
    of_unit = blocks % produced if passed >= produced else blocks
    wanted = chosen if passed >= produced else chosen % passed
    return np.flatnonzero(np.isin(of_unit, wanted))


def outgoing_axis(model: Model, unit: Unit, layer: str) -> int:
    """The axis of one run's weight, of a following layer, along which the rows lie: (I, O), or of experts (E, I, O)."""
    return 1 if isinstance(model.design.layer(layer), EXPERTS) and unit.kind != "expert" else 0


def layer_inputs(model: Model, unit: Unit, layer: str) -> int:
    """The rows of a following layer's weight, along `outgoing_axis`."""
    found = model.design.layer(layer)
    if isinstance(found, EXPERTS) and unit.kind == "expert":
        return found.experts
    return getattr(found, "linear", found).inputs


def cut_off(model: Model, parameters: Mapping[str, Tensor], run: int, unit: Unit, chosen: Units) -> None:
    """Sets to zero, in place, what following layers make of the chosen units of one run.

    parameters: those that are active (`Model.active`): what idle heads of other bodies make of a unit stays.
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
    """Sets to zero, in place, the moments of all weights into the chosen units of one run, of their biases, and, where
    `outgoing`, of the weights out of them.
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
    """Draws, in place, fresh weights into the chosen units of one run, as the layer started; and their biases, where
    `biases`: else these become zero.
    """
    fresh = model.start_of(model.design.layer(unit.incoming), run, draw) if taking_part(unit, parameters) else {}
    for name, values in fresh.items():
        own = parameters[name]
        if name == f"{unit.incoming}.bias" and not biases:
            values = np.zeros_like(values)
        at, of_units = torch.from_numpy(chosen).to(own.device), torch.from_numpy(values.take(chosen, _axis(unit)))
        own[run].index_copy_(_axis(unit), at, of_units.to(own.device))


def _axis(unit: Unit) -> int:
    """The axis of one run's weights and biases, of the layer before a unit, along which units lie."""
    return 0 if unit.kind == "expert" else 1
