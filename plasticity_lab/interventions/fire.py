"""FIRE: each weight matrix moves to an orthogonal matrix close to it, by Newton-Schulz iterations.

Legend: K runs, I inputs and O outputs of a layer, S matrices of a layer: 1, the pixels of a kernel, or the experts.
"""

from math import sqrt

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.interventions.intervention import TASK_BEGINS, Intervention
from plasticity_lab.interventions.now import Now, State
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Layer
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.normed import linear_of

DENSE, TARGETS = ("project", "initial"), ("same", "copy")


class FIRE(Intervention):
    """W ← (1 − strength) W + strength · √(O / I) · NS(W): when a task begins, or after every `every` updates.

    NS divides a matrix by its Frobenius norm and repeats X ← 1.5 X − 0.5 X Xᵀ X; this moves all singular values towards
    1. It works on the weights of all layers, the output layers included: for a convolution on the I × O matrix of each
    pixel of the kernel, with a further factor 1 / kernel², for experts on each expert. Biases, scales, shifts, noise
    deviations and moments stay. A matrix of zeros stays. In a network with attention only queries and keys change.

    strength: 1 is the method, 0 changes nothing. iterations: with 10, singular values below some 0.02 of the norm do
    not come near 1. dense: project, or initial: layers that are no convolution return to their first values instead,
    biases included, as in the authors' DQN. target: same: target networks become equal to the network at once, as in
    their DQN and SAC; copy: with their next copy.

    Source: Han et al. 2026, and their code (docs/pages/reference/interventions/fire.md).
    """

    requires = frozenset({TASK_BEGINS})

    def __init__(
        self,
        strength: float = 1.0,
        iterations: int = 10,
        dense: str = "project",
        target: str = "same",
        every: int | None = None,
    ) -> None:
        self.strength = check("intervention.strength", strength, at_least=0, at_most=1)
        self.iterations = check("intervention.iterations", iterations, at_least=1)
        self.dense = check("intervention.dense", dense, one_of=DENSE)
        self.target = check("intervention.target", target, one_of=TARGETS)
        self.every = check("intervention.every", every, at_least=1)
        self.between_tasks = every is None

    def before_task(self, now: Now) -> State:
        """In place, unless it is done after updates."""
        return now.state if self.every is not None else self._moved(now)

    def every_n_updates(self, now: Now) -> State:
        """In place."""
        return self._moved(now)

    def _moved(self, now: Now) -> State:
        """The state, which stays. Parameters are changed run by run, so that a run's products do not depend on the
        pack; runs with strength 0 are left alone.
        """
        device = next(iter(now.parameters.values())).device
        first = now.model.start(now.seeds, device) if self.dense == "initial" else {}
        for run, share in enumerate(now.settings["strength"].tolist()):
            if share == 0:
                continue
            for layer in _layers(now.model):
                if self.dense == "initial" and not isinstance(linear_of(layer), StackedConv2d):
                    names = [name for name in first if name.rpartition(".")[0] == layer.name]
                    for name in (name for name in names if name in now.parameters and name not in now.model.switches):
                        _move(now.parameters[name][run], first[name][run], share)
                elif f"{layer.name}.weight" in now.parameters:
                    own = now.parameters[f"{layer.name}.weight"][run]
                    _move(own, projected(layer, own, self.iterations), share)
            for target in now.targets if self.target == "same" else ():
                for name, value in now.parameters.items():
                    target[name][run].copy_(value[run])
        return now.state


def _layers(model: Model) -> list[Layer]:
    """All layers; if the network has attention, only queries and keys, as in the authors' code."""
    ends = tuple(model.network.compares)
    return [layer for layer in model.design.layers if not ends or layer.name.endswith(ends)]


def projected(layer: Layer, weight: Tensor, iterations: int) -> Tensor:
    """√(O / I) · NS(W) of one run's weight of a layer, as stored: (I, O), for experts (E, I, O), for a convolution
    (C · kernel², O) → the same shape. Padding stays 0.
    """
    linear = linear_of(layer)
    if isinstance(linear, StackedConv2d):
        channels, pixels = linear.image[0], linear.kernel**2
        by_pixel = weight.unflatten(0, (channels, pixels)).transpose(0, 1)
        scale = sqrt(layer.outputs / channels) / pixels
        return scale * orthogonalised(by_pixel, iterations).transpose(0, 1).flatten(0, 1)
    matrices_SIO = weight if weight.dim() == 3 else weight.unsqueeze(0)
    scale = sqrt(layer.outputs / matrices_SIO.shape[1])
    return (scale * orthogonalised(matrices_SIO, iterations)).view_as(weight)


def orthogonalised(matrices_SIO: Tensor, iterations: int) -> Tensor:
    """Each matrix divided by its Frobenius norm, then iterated by X ← 1.5 X − 0.5 X Xᵀ X. A matrix of zeros stays.

    (S, I, O) → the same shape.
    """
    norms = matrices_SIO.square().sum(dim=(1, 2), keepdim=True).sqrt()
    x = matrices_SIO / torch.where(norms > 0, norms, 1.0)
    is_wide = x.shape[2] > x.shape[1]
    x = (x.mT if is_wide else x).contiguous()
    for _ in range(iterations):
        x = torch.baddbmm(x, x, torch.bmm(x.mT, x), beta=1.5, alpha=-0.5)
    return x.mT if is_wide else x


def _move(own: Tensor, goal: Tensor, share: float) -> None:
    """own ← (1 − share) · own + share · goal, in place; exactly `goal` with a share of 1."""
    own.copy_(torch.lerp(own, goal, share))
