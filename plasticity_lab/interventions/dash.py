"""DASH: before a task, weights shrink by their agreement with the gradient on the task's data.

Legend: K runs, I inputs and O outputs of a layer as stored, C input channels, P numbers of a patch.
"""

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.interventions.intervention import COMING, TASK_BEGINS, Intervention
from plasticity_lab.interventions.now import Now, State
from plasticity_lab.networks.network import Layer
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.normed import linear_of
from plasticity_lab.stacking.run_axis import beside

LEAST = 1e-8
"""Smaller norms are replaced by this value, as in torch.cosine_similarity."""


class DASH(Intervention):
    """Direction-aware shrinking, when a task begins: w ← w · max(1 − strength, cos(G, w)), group by group.

    G is a moving average of the negative gradient on the new task's data, at the weights before shrinking: from G = 0,
    batch by batch, G ← (1 − alpha) G − alpha ∇L. A group w is the weights into one unit of a linear layer, one kernel
    (one input channel of one output channel) of a convolution, or all biases of a layer. In a layer of experts each
    expert counts as a layer. Scales and shifts of a normalisation and learned parameters of activations stay.

    batch: examples of a batch. examples: the largest number of examples; null: all. A group without a gradient, as of a
    unit that is always zero, has cosine 0. With strength = 0 nothing changes. The paper writes λ for 1 − strength.
    Source: Shin et al. 2024, algorithm 1.
    """

    requires = frozenset({TASK_BEGINS, COMING})
    between_tasks = True
    copies = 3  # the moving average, and the gradient of a batch

    def __init__(
        self, strength: float = 0.95, alpha: float = 0.3, batch: int = 128, examples: int | None = None
    ) -> None:
        self.strength = check("intervention.strength", strength, at_least=0, at_most=1)
        self.alpha = check("intervention.alpha", alpha, above=0, at_most=1)
        self.batch = check("intervention.batch", batch, at_least=1)
        self.examples = check("intervention.examples", examples, at_least=1)

    def passes(self, examples: int) -> tuple[int, int]:
        """All batches of the task, or of its first examples."""
        read = examples if self.examples is None else min(examples, self.examples)
        return -(-read // self.batch), min(self.batch, read)

    def before_task(self, now: Now) -> State:
        """Shrinks the active weights and biases in place."""
        assert now.coming is not None
        alpha = now.settings["alpha"]
        average = {name: torch.zeros_like(value) for name, value in now.parameters.items()}
        for gradients in now.coming.gradients(now.parameters, self.batch, self.examples):
            for name, kept in average.items():
                kept.mul_(1 - beside(alpha, kept)).sub_(beside(alpha, kept) * gradients[name])
        floors = (1 - now.settings["strength"]).tolist()
        for layer in now.model.design.layers:
            for part in ("weight", "bias"):
                name = f"{layer.name}.{part}"
                if name not in now.parameters:
                    continue
                # Run by run, so that the sums of a run do not depend on the pack.
                for run, floor in enumerate(floors):
                    weights = _grouped(layer, part, now.parameters[name][run])
                    cosines = _cosines(_grouped(layer, part, average[name][run]), weights)
                    weights.mul_(cosines.clamp(min=floor, max=1.0))
        return now.state


def _grouped(layer: Layer, part: str, values: Tensor) -> Tensor:
    """One run's weight or bias of a layer, as a view; its axis −2 runs along a group.

    weight: (I, O), for experts (E, I, O), for a convolution (C, P / C, O). bias: (O, 1), for experts (E, O, 1).
    """
    if part == "bias":
        return values.transpose(-1, -2)
    linear = linear_of(layer)
    if isinstance(linear, StackedConv2d):
        return values.unflatten(0, (linear.image[0], -1))
    return values


def _cosines(gradients: Tensor, weights: Tensor) -> Tensor:
    """The cosine of each group of weights with its gradients, (…, N, O) → (…, 1, O); 0 if one of them is zero."""
    products = (gradients * weights).sum(dim=-2, keepdim=True)
    norms = [values.square().sum(dim=-2, keepdim=True).sqrt().clamp(min=LEAST) for values in (gradients, weights)]
    return products / (norms[0] * norms[1])
