"""Networks of somebody's own, each with one mistake, and two in order."""

from dataclasses import replace

import torch

from plasticity_lab.networks.mlp import MLP


class Doubled(MLP):
    """In order."""

    def forward(self, design, parameters, x_KBD, activate, body):
        outputs = super().forward(design, parameters, x_KBD, activate, body)
        return {name: 2 * value for name, value in outputs.items()}


class Balanced(MLP):
    """In order: it adds a loss of its own, for each run by itself."""

    def design(self, bodies, activation):
        return replace(super().design(bodies, activation), losses=("balance",))

    def forward(self, design, parameters, x_KBD, activate, body):
        outputs = super().forward(design, parameters, x_KBD, activate, body)
        return outputs | {"balance": self._balance(outputs["logits"])}

    def _balance(self, logits):
        first = logits[:, 0]
        return 0.01 * (first * first).sum(dim=1)


class BalancedTogether(Balanced):
    def forward(self, design, parameters, x_KBD, activate, body):
        outputs = super().forward(design, parameters, x_KBD, activate, body)
        return outputs | {"balance": outputs["balance"].sum()}


class Centred(MLP):
    def forward(self, design, parameters, x_KBD, activate, body):
        return super().forward(design, parameters, x_KBD - x_KBD.mean(dim=0), activate, body)


class Exponential(MLP):
    def forward(self, design, parameters, x_KBD, activate, body):
        outputs = super().forward(design, parameters, x_KBD, activate, body)
        return {name: value * torch.exp(-(value.square())) for name, value in outputs.items()}


IN_ORDER = (Doubled, Balanced)
FAULTY = {
    Centred: "pack of 2",
    BalancedTogether: "forward",
    Exponential: "torch.exp",
}
