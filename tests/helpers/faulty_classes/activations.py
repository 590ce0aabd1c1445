"""Activations of somebody's own, each with one mistake, and one in order."""

import zlib

import numpy as np
import torch

from plasticity_lab.activations.activation import Activation, along_run_axis
from plasticity_lab.stacking import elementary

CALLS = [0]
SCALES = []
TABLES = {}


class Plain(Activation):
    """In order: its slope is the run's own, and a helper is called by the class itself."""

    def __init__(self, slope: float = 0.1):
        self.slope = slope

    def __call__(self, x, site):
        return torch.where(x > 0, x, self.learned(site, x) * x)

    def learned(self, site, x):
        return along_run_axis(site.shape["slope"], x)


class Standardised(Activation):
    def __call__(self, x, site):
        return x / x.std()


class OfAllCalls(Activation):
    def __call__(self, x, site):
        CALLS[0] += 1
        return torch.relu(x) * (1 + 1e-3 * CALLS[0])


class Running(Activation):
    def __init__(self):
        self.means = 0

    def __call__(self, x, site):
        self.means = 0.9 * self.means + 0.1 * np.array([float(each.detach().mean()) for each in x])
        return torch.relu(x - along_run_axis(torch.tensor(self.means, dtype=x.dtype), x))


class Drawn(Activation):
    def __call__(self, x, site):
        return torch.relu(x) * torch.rand_like(x)


class InVectors(Activation):
    def __call__(self, x, site):
        return torch.nn.functional.softplus(x)


class Narrow(Activation):
    def __call__(self, x, site):
        return x.mean(-1)


class Randomized(Activation):
    randomized = True

    def __call__(self, x, site):
        return torch.relu(x)


class WithoutSite(Activation):
    def __call__(self, x):
        return torch.relu(x)


class FirstCall(Activation):
    def __call__(self, x, site):
        if not SCALES:
            SCALES.append(1 + float(x.detach().std()))
        return torch.relu(x) / SCALES[0]


class Kept(Activation):
    """In order: what it keeps is a function of its key."""

    def __call__(self, x, site):
        return torch.relu(x) * TABLES.setdefault(x.shape[1], 1 / x.shape[1])


class AllFinite(Activation):
    def __call__(self, x, site):
        return torch.where(torch.isfinite(x).all(), torch.relu(x), torch.tanh(x))


class EachFinite(Activation):
    """In order: each run is asked by itself."""

    def __call__(self, x, site):
        finite = torch.isfinite(x).flatten(1).all(dim=1)
        return torch.where(along_run_axis(finite, x), torch.relu(x), elementary.tanh(x))


class ByTheLargest(Activation):
    def __call__(self, x, site):
        return torch.relu(x) / torch.clamp(x.abs().max() / 50, min=1)


class ByItsLargest(Activation):
    """In order: the largest value of each run."""

    def __call__(self, x, site):
        return torch.relu(x) / along_run_axis(torch.clamp(x.abs().flatten(1).amax(dim=1) / 50, min=1), x)


class OfAHash(Activation):
    def __call__(self, x, site):
        return torch.relu(x) * (1 + hash("slope") % 10_000 / 10_000)


class OfAChecksum(Activation):
    """In order: the same in every process."""

    def __call__(self, x, site):
        return torch.relu(x) * (1 + zlib.crc32(b"slope") % 10_000 / 10_000)


class Cosine(Activation):
    def __call__(self, x, site):
        return x + torch.cos(x)


class Power(Activation):
    def __call__(self, x, site):
        return x * (1 + x.abs()) ** -0.3


class IfSharp(Activation):
    """A wave only if the first run has one."""

    def __init__(self, sharpness: float = 0.5):
        self.sharpness = sharpness

    def __call__(self, x, site):
        return torch.relu(x) + along_run_axis(site.shape["sharpness"], x) if self.sharpness else torch.relu(x) - 0.01


class Elementary(Activation):
    """In order: powers of whole numbers are products, and the others are composed."""

    def __call__(self, x, site):
        sine, _ = elementary.sin_and_cos(x)
        return sine + x**2 + elementary.exp(0.3 * elementary.log(1 + x.abs())) + x.abs().sqrt()


IN_ORDER = (Elementary, Plain, Kept, EachFinite, ByItsLargest, OfAChecksum)
FAULTY = {
    Standardised: "pack of 2",
    OfAllCalls: "again",
    Drawn: "again",
    Running: "resumed",
    InVectors: "place",
    Narrow: "__call__",
    Randomized: "randomised",
    WithoutSite: "(x)",
    FirstCall: "trained before",
    AllFinite: "diverges",
    ByTheLargest: "10⁴",
    OfAHash: "PYTHONHASHSEED",
    Cosine: "sin_and_cos",
    Power: "whole_power",
    IfSharp: "activation.sharpness=0",
}
