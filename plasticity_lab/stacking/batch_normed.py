"""K layers in one tensor, each followed by batch normalisation, with running statistics that are state of the run.

Legend: K runs, B examples, O units or channels, R rows: B, or B·H'·W' with the pixels of a convolution.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.kernels.layers import batch_norm
from plasticity_lab.kernels.through import ThroughKernels
from plasticity_lab.stacking.normed import EPSILON, StackedNormed, at_each_row
from plasticity_lab.stacking.products import row_times

MOMENTUM = 0.1  # PyTorch's: the share of a batch in the running statistics after it


class Learning:
    """The batch of an update, for layers with running statistics.

    weights (B,): the weights of its examples, 0 for padding. after: the statistics after this batch, by name; each
    layer adds its statistics in the forward pass.
    """

    def __init__(self, weights_B: Tensor) -> None:
        self.weights_B = weights_B
        self.after: dict[str, Tensor] = {}


@dataclass(frozen=True)
class StackedBatchNormed(StackedNormed):
    """A stacked layer, followed by batch normalisation (Ioffe & Szegedy 2015), as torch.nn.BatchNorm1d and 2d.

    Each unit or channel has a running mean and variance, `<name>.mean` and `<name>.variance`, (K, 1, O). They are state
    of the run, and no parameters. In the loss of an update the mean and variance of the batch normalise, over its
    examples and all pixels; the running ones move by `MOMENTUM` towards them. Every other pass normalises by the
    running ones and changes nothing. As in torch, the variance that normalises is the biased one, and the running one
    is unbiased. A batch of a single value, which torch refuses, leaves the running ones.

    learning: the batch of an update, which receives the running statistics after it; None: another pass.
    """

    learning: Learning | None = None

    def first_statistics(self) -> dict[str, np.ndarray]:
        """One run's statistics at first, float32: mean (1, O), zeros; variance (1, O), ones."""
        shape = 1, self.outputs
        return {f"{self.name}.mean": np.zeros(shape, np.float32), f"{self.name}.variance": np.ones(shape, np.float32)}

    def __call__(self, parameters: Mapping[str, Tensor], x: Tensor, noise_KN: Tensor | None = None) -> Tensor:
        """x (K, B, ...) → (K, B, ...); in an update by our kernel, if kernels compute the layers."""
        if self.learning is None or noise_KN is not None or not isinstance(parameters, ThroughKernels):
            return super().__call__(parameters, x, noise_KN)
        h = self.layer(parameters, x).movedim(2, -1)
        scale, shift = (parameters[f"{self.name}.{part}"] for part in self.parts)
        rows_KRO, mean_K1O, variance_K1O = batch_norm(h.flatten(1, -2), self.learning.weights_B, scale, shift, EPSILON)
        self._move(parameters, self.learning, mean_K1O, variance_K1O, rows_KRO.shape[1])
        return rows_KRO.view(h.shape).movedim(-1, 2)

    def rows(self, parameters: Mapping[str, Tensor], h: Tensor) -> Tensor:
        """The numbers behind the layer, normalised, before scale and shift.  h (K, B, *, O) → (K, R, O)."""
        rows_KRO = h.flatten(1, -2).contiguous()
        if self.learning is not None:
            return self._by_batch(parameters, rows_KRO, self.learning)
        return (rows_KRO - parameters[f"{self.name}.mean"]) / (parameters[f"{self.name}.variance"] + EPSILON).sqrt()

    def _by_batch(self, parameters: Mapping[str, Tensor], rows_KRO: Tensor, learning: Learning) -> Tensor:
        """The rows, normalised by their own statistics."""
        of_example = rows_KRO.shape[1] // len(learning.weights_B)
        shares_KR = (learning.weights_B / of_example).repeat_interleave(of_example).expand(len(rows_KRO), -1)
        mean_K1O = row_times(shares_KR, rows_KRO).unsqueeze(1)
        centred_KRO = rows_KRO - at_each_row(mean_K1O, rows_KRO)
        variance_K1O = row_times(shares_KR, centred_KRO * centred_KRO).unsqueeze(1)
        self._move(parameters, learning, mean_K1O, variance_K1O, rows_KRO.shape[1])
        return centred_KRO / at_each_row((variance_K1O + EPSILON).sqrt(), rows_KRO)

    def _move(
        self, parameters: Mapping[str, Tensor], learning: Learning, mean_K1O: Tensor, variance_K1O: Tensor, rows: int
    ) -> None:
        """Notes the running statistics after a batch with that mean and biased variance."""
        count = (learning.weights_B > 0).sum() * (rows // len(learning.weights_B))
        unbiased_K1O = variance_K1O * (count / (count - 1).clamp(min=1))
        for part, found in (("mean", mean_K1O), ("variance", unbiased_K1O)):
            running = parameters[f"{self.name}.{part}"]
            after = (1 - MOMENTUM) * running + MOMENTUM * found.detach()
            learning.after[f"{self.name}.{part}"] = torch.where(count > 1, after, running)
