"""Optimizers of somebody's own, each with one mistake, and one in order."""

import torch

from plasticity_lab.stacking.adam import Adam
from plasticity_lab.stacking.optimizer import Optimizer
from plasticity_lab.stacking.run_axis import beside
from plasticity_lab.stacking.update_rule import UpdateRule, run_maximum


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


class IfDecaying(Signs):
    """A decay only if the first run has one."""

    def __init__(self, lr: float = 1e-3, decay: float = 0.1, reset: str = "never"):
        super().__init__(lr, reset)
        self.decay = decay

    def update(self, parameters, gradients, moments, settings, now):
        super().update(parameters, gradients, moments, settings, now)
        if self.decay:
            for value in parameters.values():
                value.mul_(1 - beside((settings["lr"] * settings["decay"]).float(), value))


class Squashed(Signs):
    def update(self, parameters, gradients, moments, settings, now):
        super().update(parameters, {name: torch.tanh(g) for name, g in gradients.items()}, moments, settings, now)


class Momentum(UpdateRule):
    """In order: a rule that scales its step by the largest gradient of the run, and keeps a sum of the steps."""

    def __init__(self, lr: float = 1e-3, reset: str = "never"):
        self.lr, self.reset = lr, reset

    def start_state(self, parameters):
        return {"sum": {name: torch.zeros_like(value) for name, value in parameters.items()}}

    def step(self, now):
        largest = run_maximum({name: now.gradients[name].abs() for name in now.names}, now.names, now.real)
        for name in now.names:
            scale = beside(now.settings["lr"].float() / (largest + 1), now.gradients[name])
            now.state["sum"][name].mul_(0.5).add_(scale * now.gradients[name])
            now.parameters[name].sub_(now.state["sum"][name])


class MomentumTogether(Momentum):
    def step(self, now):
        largest = torch.stack([now.gradients[name].abs().amax() for name in now.names]).amax()
        for name in now.names:
            scale = beside(now.settings["lr"].float(), now.gradients[name]) / (largest + 1)
            now.parameters[name].sub_(scale * now.gradients[name])


class OneSum(Momentum):
    def start_state(self, parameters):
        return {"sum": {"of all": torch.zeros(())}}


IN_ORDER = (
    Momentum,
    Signs,
)
FAULTY = {
    Clipped: "pack of 2",
    MomentumTogether: "pack of 2",
    OneSum: "start_state",
    ClippedFromALimit: "10⁴",
    IfDecaying: "optimizer.decay=0",
    Squashed: "torch.tanh",
}
