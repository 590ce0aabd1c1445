"""K noisy linear layers side by side: exploration by weights that are drawn around their learned means.

Legend: K runs, B examples, I inputs, O outputs, N random numbers, R rows of noise: B, or 1 for all examples.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.kernels import operators
from plasticity_lab.kernels.through import as_given
from plasticity_lab.stacking.elementary import normals
from plasticity_lab.stacking.linear import StackedLinear

SCOPES = ("sample", "batch")


@dataclass(frozen=True)
class StackedNoisyLinear:
    """K linear maps in one tensor, with factorised noise on their weights in training: x_KBI → h_KBO.

    h = x W + b + ((x · f(p)) S + s) · f(q), with f(z) = sign(z) √|z| and normal numbers p (I) and q (O). The means are
    named as a linear layer's parameters, `<name>.weight` (K, I, O) and `<name>.bias` (K, 1, O); the deviations S and s
    are `<name>.sigma` and `<name>.sigma_bias`. All are padded as in a linear layer. Without noise it is the linear
    layer.
    scope: whether each example has separate random numbers (sample), or all examples of a batch the same (batch).
    sigma: every deviation is initially sigma / √I. Source: Fortunato et al. 2018, with sigma 0.5; Dopamine's is 0.1.
    """

    name: str
    inputs: int
    outputs: int
    scope: str = "sample"
    sigma: float = 0.1
    linear: StackedLinear = field(init=False, repr=False, compare=False)
    """The map without noise."""

    def __post_init__(self) -> None:
        # Made here, since torch 2.11 cannot compile its construction.
        object.__setattr__(self, "linear", StackedLinear(self.name, self.inputs, self.outputs))

    @property
    def size(self) -> int:
        """Parameters of one run, padding not counted."""
        return 2 * self.linear.size

    @property
    def work(self) -> int:
        """Multiplications that one example takes forward, in training."""
        return 2 * self.linear.work + self.inputs + self.outputs

    def noise(self, batch: int) -> int:
        """Uniform numbers that a pass of one run takes: an even number, for normal ones come in pairs."""
        numbers = (batch if self.scope == "sample" else 1) * (self.inputs + self.outputs)
        return numbers + numbers % 2

    def start(self, draw: np.random.Generator, init: str, gain: float) -> dict[str, np.ndarray]:
        """One run's first parameters, float32: weight and sigma (I, O), bias and sigma_bias (1, O).

        For any `init`, means are uniform in ±1/√I and deviations are constant, as in the papers.
        """
        linear = self.linear
        means = linear.start(draw, "default", 1.0)
        weight, bias = (np.zeros((rows, linear.padded), np.float32) for rows in (self.inputs, 1))
        weight[:, : self.outputs] = bias[:, : self.outputs] = self.sigma / sqrt(self.inputs)
        return means | {f"{self.name}.sigma": weight, f"{self.name}.sigma_bias": bias}

    def squares(self, parameters: Mapping[str, Tensor], x_KBI: Tensor, delta_KBO: Tensor) -> dict[str, Tensor]:
        """The sum over examples of each example's squared gradient, without noise: zero for the deviations."""
        return with_still_deviations(self.name, self.linear.squares(parameters, x_KBI, delta_KBO))

    def __call__(self, parameters: Mapping[str, Tensor], x_KBI: Tensor, noise_KN: Tensor | None = None) -> Tensor:
        """x (K, B, I) → (K, B, O).  noise: uniform numbers of each run, `noise` of the examples; None in evaluation.

        Padding rows of x after the examples have no noise.
        """
        h_KBO = self.linear(parameters, x_KBI)
        if noise_KN is None:
            return h_KBO
        factors_KRN = self.factors(noise_KN, x_KBI.shape[1])
        by_input, by_output = factors_KRN[..., : self.inputs], factors_KRN[..., self.inputs :]
        return h_KBO + self.linear(deviations(parameters, self.name), x_KBI * by_input) * by_output

    def factors(self, noise_KN: Tensor, rows: int) -> Tensor:
        """f of normal numbers, (K, R, I + O). If there are fewer examples than `rows`, zeros follow."""
        numbers = self.inputs + self.outputs
        examples = noise_KN.shape[1] // numbers
        if operators.serve(noise_KN):
            there = rows if self.scope == "sample" else examples
            return torch.ops.plasticity_lab.noise_factors(noise_KN, there, numbers)
        drawn = normals(noise_KN)[:, : examples * numbers].unflatten(1, (examples, -1))
        factors = drawn.sign() * drawn.abs().sqrt()
        missing = rows - examples if self.scope == "sample" else 0
        return pad(factors, (0, 0, 0, missing)) if missing else factors


def deviations(parameters: Mapping[str, Tensor], name: str) -> Mapping[str, Tensor]:
    """The deviations of a noisy layer under the names of its means, for a layer without noise."""
    weight, bias = parameters[f"{name}.sigma"], parameters[f"{name}.sigma_bias"]
    return as_given(parameters, {f"{name}.weight": weight, f"{name}.bias": bias})


def with_still_deviations(name: str, squares: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Squared gradients of the means, and zeros for the deviations: without noise these have no gradient."""
    weight, bias = (squares[f"{name}.{part}"] for part in ("weight", "bias"))
    return {**squares, f"{name}.sigma": torch.zeros_like(weight), f"{name}.sigma_bias": torch.zeros_like(bias)}
