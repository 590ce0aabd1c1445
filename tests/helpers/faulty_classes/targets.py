"""Targets of somebody's own, each with one mistake, and one in order."""

import torch

from plasticity_lab.agents.value.targets.inputs import TARGET_NEXT
from plasticity_lab.agents.value.targets.q import QLearning
from plasticity_lab.agents.value.targets.target import Target
from plasticity_lab.stacking.run_axis import beside


class Half(Target):
    """In order: the mean of the best and of a run's own share of the worst next value."""

    def __init__(self, share: float = 0.5):
        self.share = share

    def target(self, inputs):
        return self.between(inputs, inputs.settings["share"].float())

    def between(self, inputs, share_K):
        q = inputs.passes[TARGET_NEXT].q()
        return inputs.by_value(q.amax(dim=-1) + beside(share_K, inputs.returns) * q.amin(dim=-1))


class FirstShare(Half):
    def target(self, inputs):
        return self.between(inputs, torch.full_like(inputs.settings["share"], self.share).float())


class IfShared(Half):
    def target(self, inputs):
        return self.between(inputs, inputs.settings["share"].float() * (1 if self.share else 0))


class CentredTarget(QLearning):
    def target(self, inputs):
        found = super().target(inputs)
        return found - found.mean()


class Squeezed(QLearning):
    def target(self, inputs):
        return super().target(inputs).mean(dim=1)


class Softened(QLearning):
    def target(self, inputs):
        return torch.tanh(super().target(inputs))


IN_ORDER = (Half,)
FAULTY = {
    FirstShare: "pack of 2",
    IfShared: "target.share=0",
    CentredTarget: "pack of 2",
    Squeezed: "'target' returns",
    Softened: "torch.tanh",
}
