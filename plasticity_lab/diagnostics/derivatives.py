"""Derivatives of activations at the pre-activations of a probe, or at any other values.

Legend: K runs, B examples, D units or channels, G sets of values that the activation passes on, * the pixels of a map.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from plasticity_lab.activations.activation import Activation, Site
from plasticity_lab.diagnostics.view import View

FLAT = 1e-3
"""Derivatives with a smaller absolute value count as 0.  Source: Section 4, which bounds dead bands with it."""
AT_ONCE = 2**16
"""Approximate number of derivatives computed at a time. Their temporary tensors then remain small and in the cache."""


class Slopes(NamedTuple):
    """Counts over one run's pre-activations at a place, as Python numbers.

    pairs: their number. flat: the number with a derivative near 0. negative: the number below 0. sum_of_negative: the
    sum of the derivatives at the negative ones.
    """

    pairs: int
    flat: int
    negative: int
    sum_of_negative: float


def derivatives(activation: Activation, z: Tensor, site: Site) -> Tensor:
    """∂h/∂z at each element of z (K, B, D, *), for each value that the activation makes of it: (G, K, B, D, *).

    G is 1 for most activations, and 2 if two values are made of one (CReLU, Deep Fourier). Gated activations (SwiGLU,
    Hadamard) make one value of two: z has both inputs, G is 1, and each input has its own derivative.
    """
    with torch.enable_grad():
        z = z.detach().requires_grad_()
        h = activation(z, site)
        sets = max(1, h.shape[2] // z.shape[2])
        each = h.chunk(sets, dim=2)
        found = [torch.autograd.grad(own.sum(), z, retain_graph=at + 1 < sets)[0] for at, own in enumerate(each)]
    return torch.stack(found) if sets > 1 else found[0].unsqueeze(0)


def elementwise(activation: Activation) -> bool:
    """Whether the activation makes one value of one pre-activation, so that it has a slope."""
    return activation.expansion == 1


def slopes(view: View, flat: float = FLAT) -> Mapping[str, list[Slopes]]:
    """By unit name, for each run: counts over the probe's pre-activations."""
    return view.once(("slopes", flat), lambda: _slopes(view, flat))


def site_of(view: View, unit: str, run: int) -> Site:
    """The settings and learned parameters of one run's activation at a place, in evaluation mode, with a run axis
    of 1.
    """
    own = slice(run, run + 1)
    learned = view.model.learned_at(unit, view.parameters)
    return Site(
        {name: value[own] for name, value in view.activation_at(unit)[1].items()},
        {name: value[own].detach() for name, value in learned.items()},
    )


def _slopes(view: View, flat: float) -> Mapping[str, list[Slopes]]:
    before, found = view.forward().before, dict[str, list[Slopes]]()
    for unit in view.units:
        activation, _ = view.activation_at(unit.name)
        z = unit.units_first(before[unit.name])
        found[unit.name] = []
        for run in range(len(z)):
            site = site_of(view, unit.name, run)
            examples = max(1, AT_ONCE // z[run, 0].numel())
            parts = z[run : run + 1].split(examples, dim=1)
            counted = [_counted(part, derivatives(activation, part, site), flat) for part in parts]
            found[unit.name].append(Slopes(*(sum(each) for each in zip(*counted, strict=True))))
    return found


def _counted(z: Tensor, derivative: Tensor, flat: float) -> Slopes:
    size = derivative[0].abs() if len(derivative) == 1 else derivative.square().sum(dim=0).sqrt()
    negative = z < 0
    # Multiplied, not indexed: indexing would take as long as everything else here.
    total = (derivative[0] * negative).sum(dtype=torch.float64) if len(derivative) == 1 else torch.tensor(float("nan"))
    return Slopes(z.numel(), int(torch.count_nonzero(size < flat)), int(torch.count_nonzero(negative)), total.item())
