"""What units do in an update, for interventions that judge units: parts of what is compiled.

Sums are exact (`exact_sums`), or over pixels a matrix product: the same bits alone and in a pack, where a compiled
kernel's own sums would not be. The first cost less in what is compiled, the second where there is much to add up.
Legend: K runs, B rows of a batch, V values (of channels: maps) that an activation passes on, N units or channels of a
place, * the pixels of a map.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Unit
from plasticity_lab.networks.units import layer_inputs, outgoing_axis, passed_on
from plasticity_lab.stacking.products import exact_sums, row_times
from plasticity_lab.stacking.run_axis import beside


def of_units(values_KV: Tensor, unit: Unit) -> Tensor:
    """What is known of the values passed on, by the units that they are of, (K, F, N): unit n's are [:, :, n].

    F is 1 for most activations; 2 where each unit passes on two values. Of gates, where two units make one value, both
    have it.
    """
    produced, passed = unit.produced[0], values_KV.shape[1]
    if passed < produced:
        values_KV = values_KV.repeat(1, produced // passed)
    return values_KV.unflatten(1, (-1, produced))


def fired(h: Tensor, weights: Tensor | None, unit: Unit, epsilon_K: Tensor) -> Tensor:
    """Whether any value of a unit, on any example of the batch and at any pixel, is larger than epsilon: (K, N) bool.

    h (K, B, V, *); weights: `Now.weights`.
    """
    largest = h.abs() if h.dim() == 3 else _largest_pixel(h.abs())
    if weights is not None:
        largest = torch.where(weights.view(1, -1, 1) > 0, largest, 0.0)
    largest_KV = largest.amax(dim=1)
    return of_units(largest_KV > beside(epsilon_K, largest_KV), unit).any(dim=1)


def _largest_pixel(size: Tensor) -> Tensor:
    """The maximum over the pixels, (K, B, V).  size (K, B, V, *).

    One half beside the other, which is long rows: torch's own maximum takes 15 times as long where channels are last.
    """
    size_KBPV = size.movedim(2, -1).flatten(2, -2)
    while size_KBPV.shape[2] % 2 == 0:
        half = size_KBPV.shape[2] // 2
        size_KBPV = torch.maximum(size_KBPV[:, :, :half], size_KBPV[:, :, half:])
    return size_KBPV.amax(dim=2)


def mean_size(h: Tensor, weights: Tensor | None) -> Tensor:
    """The mean of |h| over the batch's examples and the pixels, (K, V).  h (K, B, V, *); weights: `Now.weights`."""
    examples, pixels = h.shape[1], h[0, 0, 0].numel()
    each_B = h.new_full((examples,), 1 / examples) if weights is None else weights
    if pixels == 1:
        return exact_sums((h.abs().flatten(2) * each_B.view(1, -1, 1)).transpose(1, 2))
    each_R = (each_B / pixels).repeat_interleave(pixels)  # a row is a pixel of an example, as channels last have them
    size_KRV = h.detach().abs().movedim(2, -1).flatten(1, -2)
    return row_times(each_R.expand(len(h), -1), size_KRV)


def examples_in(h: Tensor, weights: Tensor | None) -> Tensor | int:
    """How many rows of a batch are examples, () or a number.  h (K, B, V, *); weights: `Now.weights`."""
    return h.shape[1] if weights is None else (weights > 0).sum()


def outgoing_size(model: Model, parameters: Mapping[str, Tensor], unit: Unit) -> Tensor:
    """Σ |w| over all that following layers multiply a value with, (K, V): of those layers that are active."""
    passed, total = passed_on(model, unit), []
    for layer in unit.outgoing:
        if f"{layer}.weight" in parameters:
            axis = 1 + outgoing_axis(model, unit, layer)
            weight = parameters[f"{layer}.weight"].movedim(axis, 1)[:, : layer_inputs(model, unit, layer)]
            total.append(exact_sums(weight.abs().unflatten(1, (passed, -1)).flatten(2)))
    return torch.stack(total).sum(dim=0) if len(total) > 1 else total[0]
