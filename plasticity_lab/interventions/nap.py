"""Normalize-and-Project: in a network with normalisation, the weights of each layer keep their first norm.

Legend: K runs, E experts, I inputs and O outputs of a layer as stored.
"""

from collections.abc import Iterator
from math import sqrt
from typing import ClassVar

import torch
from torch import Tensor

from plasticity_lab.activations.activation import Activation, Site
from plasticity_lab.component import check
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.interventions.now import Now, State
from plasticity_lab.networks.heads.head import Head
from plasticity_lab.networks.heads.moe import MoE
from plasticity_lab.networks.network import Network
from plasticity_lab.others import Others
from plasticity_lab.stacking.normed import StackedNormed
from plasticity_lab.stacking.products import exact_sums, folded, run_sums
from plasticity_lab.stacking.run_axis import beside

AFFINE, BIASES = ("project", "pull", "free"), ("drop", "keep")


class NormalizeAndProject(Intervention):
    """W ← W · ρ / ‖W‖ for the weights of each layer, after each update or every `every` updates.

    ‖W‖ is the Frobenius norm and ρ its first value, separate for each expert. affine: the rule for the scales s and
    shifts b of a normalisation of d units: project: (s, b) ← (s, b) · √d / ‖(s, b)‖, for homogeneous activations
    only; pull: s ← s + pull · (1 − s), b ← (1 − pull) · b; free: nothing. biases: drop: biases before a normalisation
    are 0 from the start on, since its shift takes their place; keep: they are learned. last_layer: whether output
    layers are projected too. Moments and learned parameters of activations stay, and so does a matrix of zeros.

    strength: the part of the way to the projected values, in each of these rules; 1 is the method, 0 the plain run.

    Source: Lyle et al. 2024, Algorithm 1 and Section 4 (docs/pages/reference/interventions/nap.md).
    State: one number a matrix.
    """

    needs_gradients = False
    operations = 10
    objects_to = frozenset({"network", "activation"})
    read_if: ClassVar = {"pull": ("affine", lambda affine: affine == "pull")}

    def __init__(
        self,
        strength: float = 1.0,
        affine: str = "project",
        pull: float = 1e-3,
        biases: str = "drop",
        last_layer: bool = True,
        every: int | None = None,
    ) -> None:
        self.strength = check("intervention.strength", strength, at_least=0, at_most=1)
        self.affine = check("intervention.affine", affine, one_of=AFFINE)
        self.pull = check("intervention.pull", pull, at_least=0, at_most=1)
        self.biases = check("intervention.biases", biases, one_of=BIASES)
        self.last_layer = last_layer
        self.every = check("intervention.every", every, at_least=1)

    def objection(self, others: Others) -> str | None:
        """Each activation must follow a normalisation; joint projection needs a homogeneous activation."""
        network = others.one("network", Network)
        if network.norm in ("none", "diagonal"):
            return (
                "it needs a normalisation before each activation, and this network has none; choose network.norm=layer"
            )
        if not network.normed_throughout:
            return (
                "it needs a normalisation before each activation, and this network has activations of plain sums or "
                "layers; choose network=mlp, cnn or nature, for example"
            )
        if "head" in others and isinstance(others.one("head", Head), MoE):
            return "it needs a normalisation before each activation, and the experts of this head have none"
        if self.affine == "project" and not is_homogeneous(others.one("activation", Activation)):
            return (
                "it scales a normalisation's output, and this activation is not homogeneous, as φ(2x) is not 2φ(x); "
                "choose intervention.affine=pull"
            )
        return super().objection(others)

    def start(self, now: Now) -> State:
        """ρ of each matrix, (K,) or for experts (K, E), by the name of the weight. Biases are dropped in place."""
        for bias in self._dropped(now):
            bias.mul_(beside(1 - now.settings["strength"], bias))
        return {name: norms(weight) for name, weight in self._weights(now)}

    def after_step(self, now: Now) -> State:
        """In place, unless it is done every few updates. Dropped biases are 0 after every update."""
        for bias in self._dropped(now):
            bias.mul_(beside(1 - now.settings["strength"], bias))
        return now.state if self.every is not None else self._projected(now)

    def every_n_updates(self, now: Now) -> State:
        """In place."""
        return self._projected(now)

    def _projected(self, now: Now) -> State:
        """The state, which stays."""
        for name, weight in self._weights(now):
            factor = self._factor(now, now.state[name], norms(weight))
            weight.mul_(factor.view(*factor.shape, *[1] * (weight.dim() - factor.dim())))
        for layer in _normed(now) if self.affine != "free" else ():
            affine = [now.parameters[f"{layer.name}.{part}"] for part in layer.parts]
            if self.affine == "project":
                squares = sum((run_sums(each * each) for each in affine[1:]), run_sums(affine[0] * affine[0]))
                factor = self._factor(now, torch.full_like(squares, sqrt(layer.outputs)), squares.sqrt())
                for each in affine:
                    each.mul_(beside(factor, each))
            else:
                share = beside(now.settings["strength"] * now.settings["pull"], affine[0])
                for each, goal in zip(affine, (1.0, 0.0), strict=False):
                    each.add_(share * (goal - each))
        return now.state

    def _factor(self, now: Now, radius: Tensor, norm: Tensor) -> Tensor:
        """The number that multiplies values of this norm, (K, ...) like both; 1 for a norm of 0."""
        whole = radius / torch.where(norm > 0, norm, 1.0)
        factor = torch.lerp(torch.ones_like(whole), whole, beside(now.settings["strength"], whole))
        return torch.where(norm > 0, factor, 1.0)

    def _weights(self, now: Now) -> Iterator[tuple[str, Tensor]]:
        """The active weights that are projected, with their names."""
        left_out = () if self.last_layer else now.model.design.outputs.values()
        for layer in now.model.design.layers:
            name = f"{layer.name}.weight"
            if name in now.parameters and layer.name not in left_out:
                yield name, now.parameters[name]

    def _dropped(self, now: Now) -> list[Tensor]:
        """The active biases that are held at 0."""
        return [now.parameters[f"{layer.name}.bias"] for layer in _normed(now)] if self.biases == "drop" else []


def norms(weight: Tensor) -> Tensor:
    """The Frobenius norm of each matrix, (K,) or for experts (K, E).  weight (K, I, O) or (K, E, I, O).

    The bits of a run do not depend on the pack.
    """
    return exact_sums(folded(weight * weight).flatten(-2)).sqrt()


def is_homogeneous(activation: Activation) -> bool:
    """Whether φ(2x) = 2φ(x), at its first learned parameters and in evaluation. For ReLUs both have the same bits."""
    x = torch.linspace(-3, 3, 16).view(1, 1, -1)
    shape = {name: torch.tensor([value]) for name, value in activation.on_run_axis().items()}
    learned = {name: torch.tensor([value.start]) for name, value in activation.learnable(16).items()}
    site = Site(shape, learned)
    return torch.equal(activation(2 * x, site), 2 * activation(x, site))


def _normed(now: Now) -> list[StackedNormed]:
    """The active layers with a normalisation."""
    return [
        layer
        for layer in now.model.design.layers
        if isinstance(layer, StackedNormed) and f"{layer.name}.scale" in now.parameters
    ]
