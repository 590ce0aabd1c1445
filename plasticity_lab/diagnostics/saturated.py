"""Saturation: the share of pre-activations in flat parts of the activation, for any family."""

from collections.abc import Sequence

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.diagnostics.derivatives import FLAT, slopes
from plasticity_lab.diagnostics.diagnostic import Diagnostic, interval
from plasticity_lab.diagnostics.places import SHARE, at, columns_at
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.network import Unit
from plasticity_lab.records.measures import Column


class Saturated(Diagnostic):
    """The share of pairs (unit, example) with |φ′(z)| < `flat`, in evaluation mode.

    For channels, each pixel is a pair. If a unit passes on several values, its derivative has the size √Σ φ′²; for Deep
    Fourier this is always 1. Source: Section 4 and Appendix D, which measures its shocks by it.
    """

    passes = 1.5

    def __init__(self, every: int | str = 1, flat: float = FLAT) -> None:
        self.every = interval(every)
        self.flat = check("diagnostics.flat", flat, above=0)

    def columns(self, units: Sequence[Unit]) -> list[Column]:
        """Columns of the whole network, and of each place."""
        return columns_at(self, units, "saturated", "Saturated pairs", "% of pairs (φ′)", **SHARE)

    def look(self, view: View) -> dict[str, Tensor]:
        """The shares, (K,) each, counted in whole numbers."""
        found = slopes(view, self.flat)
        runs = list(zip(*found.values(), strict=True))
        shares = {place: [own.flat / own.pairs for own in each] for place, each in found.items()}
        whole = [sum(own.flat for own in run) / sum(own.pairs for own in run) for run in runs]
        return {at("saturated", place): torch.tensor(own, dtype=torch.float64)
                for place, own in {None: whole, **shares}.items()}  # fmt: skip
