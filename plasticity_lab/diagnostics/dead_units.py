"""Dead units: the units with output zero, or always the same output, on the examples of a probe.

Legend: K runs, B examples, N units of a layer, V values (of channels: maps) that its units pass on, * the pixels of a
map.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from plasticity_lab.activations.activation import Activation, along_run_axis
from plasticity_lab.activations.celu import CELU
from plasticity_lab.activations.crelu import CReLU
from plasticity_lab.activations.deep_fourier import DeepFourier
from plasticity_lab.activations.elu import ELU
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.activations.selu import LAMBDA, SELU, RandomizedSELU
from plasticity_lab.activations.sigmoid import Sigmoid
from plasticity_lab.activations.tanh import Tanh
from plasticity_lab.diagnostics.diagnostic import Diagnostic, interval
from plasticity_lab.diagnostics.places import added_up, at, in_rows
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.network import Unit
from plasticity_lab.records.measures import Column

ZERO, MARGIN, SHARE = 1e-5, 0.02, 0.05
"""Bounds: a rectifier's output below the first is 0. An output within the second of its bound is saturated. An output
below the third, in standard deviations of its layer, is too small."""


class DeadUnits(Diagnostic):
    """The share of pairs (unit, example) that are dead, and the share of units that are dead on every example of the
    probe.

    The unit's output decides whether a pair is dead: at 0 (ReLU, CReLU), within 0.02 of a bound (Sigmoid, Tanh), within
    0.02 of the lower bound or small (the ELU family), small (all others), never (Deep Fourier). Small is |h| < 0.05 σ,
    where σ is the standard deviation of the layer's outputs over examples and units. If all outputs of a layer are 0,
    all its pairs are dead. For channels, each pixel is a pair, and a channel is dead if all of its pixels are dead.
    Source: Appendix C.3, which leaves the criteria to its code; the numbers are the ones that its code is said to use.
    """

    passes = 0.7

    def __init__(self, every: int | str = 1) -> None:
        self.every = interval(every)

    def columns(self, units: Sequence[Unit]) -> list[Column]:
        """Columns of the whole network, and of each place of units."""
        found = []
        for place in (None, *(unit.name for unit in units)):
            for of in ("pairs", "units"):
                title = f"Dead {of}" if place is None else f"Dead {of}, {place}"
                name, unit = at(f"dead_{of}", place), f"% of {of}"  # different units, so different panels
                found.append(self.column(name, title, unit, scale=100.0, places=2, better="less"))
        return found

    def look(self, view: View) -> dict[str, Tensor]:
        """The shares, (K,) each, counted in whole numbers."""
        found, pairs, units = {}, [], []
        hidden = view.forward().hidden
        for unit in view.units:
            dead = dead_pairs(*view.activation_at(unit.name), hidden[unit.name])
            whole_KV = torch.stack([in_rows(own).all(dim=0) for own in dead.unbind()])
            # A unit that passes on several values is dead only if all of them are.
            whole_KN = whole_KV.unflatten(1, (-1, min(unit.produced[0], whole_KV.shape[1]))).all(dim=1)
            dead_K, there = torch.stack([own.count_nonzero() for own in dead.unbind()]), dead[0].numel()
            pairs.append((dead_K, there))
            units.append(whole_KN)
            found |= _shares(unit.name, dead_K, there, whole_KN)
        dead_K, there = added_up([own for own, _ in pairs]), sum(count for _, count in pairs)
        return found | _shares(None, dead_K, there, torch.cat(units, dim=1))


def dead_pairs(activation: Activation, shape: Mapping[str, Tensor], h: Tensor) -> Tensor:
    """Which outputs h (K, B, V, *) of a layer are dead, like h.  shape: the activation's settings, name → (K,)."""
    if isinstance(activation, DeepFourier):  # sine and cosine together always have a derivative of size 1
        return torch.zeros_like(h, dtype=torch.bool)
    silent_K = torch.stack([own.count_nonzero() == 0 for own in h.unbind()])
    return _dead_by_family(activation, shape, h) | along_run_axis(silent_K, h)


def _dead_by_family(activation: Activation, shape: Mapping[str, Tensor], h: Tensor) -> Tensor:
    if isinstance(activation, ReLU | CReLU):
        return h <= ZERO
    if isinstance(activation, Sigmoid):
        return (h < MARGIN) | (h > 1 - MARGIN)
    if isinstance(activation, Tanh):
        return h.abs() > 1 - MARGIN
    deviation_K = torch.stack([own.double().std(correction=0) for own in h.unbind()])  # run by run, whatever the pack
    small = h.abs() < along_run_axis(SHARE * deviation_K.to(h.dtype), h)
    lowest = _lowest(activation, shape)
    return small if lowest is None else small | (h < along_run_axis(lowest + MARGIN, h))


def _lowest(activation: Activation, shape: Mapping[str, Tensor]) -> Tensor | None:
    """The lower bound of an exponential tail, (K,); None if the activation has none."""
    if isinstance(activation, ELU | CELU):
        return -shape["alpha"]
    if isinstance(activation, SELU):
        return -LAMBDA * shape["alpha"]
    if isinstance(activation, RandomizedSELU):  # in evaluation mode
        return -LAMBDA * (shape["lower"] + shape["upper"]) * 0.5
    return None


def _shares(place: str | None, dead_K: Tensor, pairs: int, units_KN: Tensor) -> dict[str, Tensor]:
    """The two columns of a place.  dead: the number of dead pairs among `pairs`."""
    return {
        at("dead_pairs", place): dead_K.double() / pairs,
        at("dead_units", place): units_KN.sum(dim=1).double() / units_KN.shape[1],
    }
