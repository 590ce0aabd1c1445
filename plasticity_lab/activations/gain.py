"""The Kaiming gain of an activation for which none is published."""

import functools

import numpy as np
import torch

from plasticity_lab.activations.activation import Activation, Site


def kaiming_gain(activation: Activation) -> float:
    """1 / √E[φ(z)²] with z ~ N(0, 1), of the activation as it starts and as it is evaluated (mean slopes).

    A layer with this gain keeps the second moment of what it receives. The integral is a Gauss–Legendre sum on each
    side of 0, where most activations have their kink: Gauss–Hermite nodes would straddle it.
    """
    z, density = normal_rule()
    x = torch.from_numpy(z).reshape(1, -1, 1)
    shape = {name: torch.tensor([value], dtype=x.dtype) for name, value in activation.on_run_axis().items()}
    learned = {name: torch.tensor([value.start], dtype=x.dtype) for name, value in activation.learnable(1).items()}
    squares = activation(x, Site(shape, learned)).square().mean(dim=2).numpy().ravel()
    return float(1 / np.sqrt(squares @ density))


@functools.cache
def normal_rule() -> tuple[np.ndarray, np.ndarray]:
    """Nodes on [−12, 12] and what each weighs under the normal density."""
    nodes, weights = np.polynomial.legendre.leggauss(120)
    z = 6 * (nodes + 1)
    density = 6 * weights * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    return np.concatenate([-z, z]), np.concatenate([density, density])
