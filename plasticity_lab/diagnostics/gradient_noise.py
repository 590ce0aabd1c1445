"""Signal and noise of the gradient: how much examples agree on where to go.

Legend: K runs, B examples.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from plasticity_lab.diagnostics.diagnostic import TASK, Diagnostic, interval
from plasticity_lab.diagnostics.places import run_by_run, with_gram
from plasticity_lab.diagnostics.sensitivities import whole_gram
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Unit
from plasticity_lab.records.measures import Column


class GradientNoise(Diagnostic):
    """The signal-to-noise ratio of the gradient, ‖ḡ‖² / (Σ ‖gᵢ − ḡ‖² / (B − 1)).

    ḡ is the mean gradient over the probe, gᵢ the gradient of one example, by all weights and biases of linear layers
    and convolutions. Empty if the noise is 0. Source: Appendix B records the gradient's signal-to-noise ratio and
    leaves its definition open.
    """

    passes = 4.5

    def __init__(self, every: int | str = TASK) -> None:
        self.every = interval(every)

    def applies_to(self, model: Model) -> bool:
        """If it has such a layer: a network with noise in all layers has none."""
        return bool(with_gram(model))

    def columns(self, units: Sequence[Unit]) -> list[Column]:
        """The column of the network."""
        return [self.column("gradient_snr", "Gradient, signal to noise", "signal / noise", better="more")]

    def look(self, view: View) -> dict[str, Tensor]:
        """(K,)."""
        return {"gradient_snr": run_by_run(signal_to_noise, whole_gram(view))}


def signal_to_noise(gram_BB: Tensor) -> Tensor:
    """The ratio of one run, (), from the inner products of its examples' gradients."""
    examples = len(gram_BB)
    signal = gram_BB.sum() / examples**2
    noise = (gram_BB.diagonal().sum() - examples * signal) / (examples - 1)
    return torch.where(noise > 0, signal / noise, float("nan"))
