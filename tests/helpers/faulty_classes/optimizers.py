"""Optimizers of somebody's own, each with one mistake, and one in order."""

import torch

from plasticity_lab.stacking.adam import Adam
from plasticity_lab.stacking.optimizer import Optimizer
from plasticity_lab.stacking.run_axis import beside


class Signs(Optimizer):
    """In order."""

    def __init__(self, lr: float = 1e-3, reset: str = "never"):
        self.lr, self.reset = lr, reset

    def start(self, parameters):
        return {}

    def update(self, parameters, gradients, moments, settings, now):
        for name, gradient in gradients.items():
            parameters[name].sub_(beside(settings["lr"].float(), gradient) * gradient.sign())


class Clipped(Adam):
    def update(self, parameters, gradients, moments, settings, now):
        norm = torch.sqrt(sum(gradient.square().sum() for gradient in gradients.values()))
        super().update(parameters, {name: g / norm for name, g in gradients.items()}, moments, settings, now)


class ClippedFromALimit(Adam):
    limit = 1000

    def update(self, parameters, gradients, moments, settings, now):
        norm = torch.sqrt(sum(gradient.square().sum() for gradient in gradients.values()))
        scale = torch.clamp(self.limit / norm, max=1)
        super().update(parameters, {name: g * scale for name, g in gradients.items()}, moments, settings, now)


IN_ORDER = (Signs,)
FAULTY = {
    Clipped: "pack of 2",
    ClippedFromALimit: "10⁴",
}
