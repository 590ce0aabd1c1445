"""Activations of somebody's own, each with one mistake, and one in order."""

import numpy as np
import torch

from plasticity_lab.activations.activation import Activation, along_run_axis

CALLS = [0]


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


class FirstSlope(Plain):
    def __call__(self, x, site):
        return torch.where(x > 0, x, self.slope * x)


class OfAllCalls(Activation):
    def __call__(self, x, site):
        CALLS[0] += 1
        return torch.relu(x) * (1 + 1e-3 * CALLS[0])


class OfTheClass(Activation):
    calls = 0

    def __call__(self, x, site):
        type(self).calls += 1
        return torch.relu(x) * (1 + 1e-3 * type(self).calls)


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


IN_ORDER = (Plain,)
FAULTY = {
    Standardised: "pack of 2",
    FirstSlope: "pack of 2",
    OfAllCalls: "again",
    OfTheClass: "again",
    Drawn: "again",
    Running: "resumed",
    InVectors: "place",
    Narrow: "__call__",
    Randomized: "randomised",
    WithoutSite: "(x)",
}
