"""The effective negative slope: the mean derivative below zero, under each law of the pre-activation.

Legend: K runs, P points of a quadrature, D units or channels.
"""

from collections.abc import Sequence
from functools import cache
from math import exp, pi, sqrt

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.diagnostics.derivatives import derivatives, elementwise, site_of, slopes
from plasticity_lab.diagnostics.diagnostic import Diagnostic, interval
from plasticity_lab.diagnostics.places import at, columns_at
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Unit
from plasticity_lab.records.measures import Column

POINTS = 128
FARTHEST = 12.0
"""In standard deviations: beyond it, a half-normal has less than 10⁻³² of its mass."""


class NegativeSlope(Diagnostic):
    """s̄ = E[φ′(z) | z < 0] in evaluation mode, under three laws of z.

    The laws differ: for ELU with α = 3.9, s̄ is 2.04 under a half-normal, 1.24 for z uniform on (−3, 0), and 0.39 on
    (−10, 0).
    `slope_half_normal`: −z is the absolute value of a standard normal. `slope_uniform`: z is uniform on (−`span`, 0).
    Both are means over a place's units if each unit has a separate slope; then over places, weighted by their units.
    `slope_probe`: the mean over the negative pre-activations of the probe, also for each place; empty if none is
    negative.
    Source: Section 3, which leaves the law open. Only for activations that make one value of one pre-activation.
    """

    passes = 1.5

    def __init__(self, every: int | str = 1, span: float = 3.0) -> None:
        self.every = interval(every)
        self.span = check("diagnostics.span", span, above=0)

    def applies_to(self, model: Model) -> bool:
        """Whether the activation has a slope: CReLU, Deep Fourier, SwiGLU and Hadamard have none."""
        return elementwise(model.activation)

    def columns(self, units: Sequence[Unit]) -> list[Column]:
        """Columns of the whole network, and for the probe's law columns of each place."""
        return [
            self.column("slope_half_normal", "Negative slope, half-normal", "s̄, half-normal", places=3),
            self.column("slope_uniform", f"Negative slope, uniform to −{self.span:g}", "s̄, uniform", places=3),
            *columns_at(self, units, "slope_probe", "Negative slope, probe", "s̄, probe", places=3),
        ]

    def look(self, view: View) -> dict[str, Tensor]:
        """(K,) each."""
        found = slopes(view)
        runs = range(len(view.seeds))
        laws = {"slope_half_normal": half_normal(), "slope_uniform": uniform(self.span)}
        values = {name: [self._under(view, run, *law) for run in runs] for name, law in laws.items()}
        for place, own in found.items():
            values[at("slope_probe", place)] = [_mean([own[run]]) for run in runs]
        values["slope_probe"] = [_mean([own[run] for own in found.values()]) for run in runs]
        return {name: torch.tensor(each, dtype=torch.float64) for name, each in values.items()}

    def _under(self, view: View, run: int, points: Tensor, weights: Tensor) -> float:
        """The value for one run: the mean over all units of Σ weights φ′(points), float64."""
        total, count = 0.0, 0
        for unit in view.units:
            width = unit.activated[0]
            site = site_of(view, unit.name, run)
            exact = {name: value.double().cpu() for name, value in site.shape.items()}
            learned = {name: value.double().cpu() for name, value in site.learned.items()}
            wide = width if any(value.shape[1] > 1 for value in learned.values()) else 1
            z_1PD = points.view(1, -1, 1).expand(1, -1, wide)
            slope_PD = derivatives(view.activation_at(unit.name)[0], z_1PD, type(site)(exact, learned))[0, 0]
            total += (weights @ slope_PD).mean().item() * width
            count += width
        return total / count


@cache
def half_normal() -> tuple[Tensor, Tensor]:
    """Points below 0 and weights with sum 1, (P,) float64: Gauss–Legendre under the density of −|N(0, 1)|."""
    points, weights = _gauss_legendre(FARTHEST)
    density = torch.tensor([exp(-(z**2) / 2) * sqrt(2 / pi) for z in points.tolist()], dtype=torch.float64)
    return points, weights * density


@cache
def uniform(span: float) -> tuple[Tensor, Tensor]:
    """The same for the uniform law on (−span, 0)."""
    points, weights = _gauss_legendre(span)
    return points, weights / span


def _gauss_legendre(span: float) -> tuple[Tensor, Tensor]:
    """Points and weights of the Gauss–Legendre quadrature on (−span, 0)."""
    points, weights = np.polynomial.legendre.leggauss(POINTS)
    return torch.from_numpy((points - 1) * span / 2), torch.from_numpy(weights * span / 2)


def _mean(places: Sequence) -> float:
    """The mean slope over the negative pre-activations; NaN if there are no negative ones."""
    count = sum(own.negative for own in places)
    return sum(own.sum_of_negative for own in places) / count if count else float("nan")
