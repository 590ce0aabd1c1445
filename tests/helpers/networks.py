"""Networks by themselves, for tests that need no agent."""

from collections.abc import Sequence

import torch
from torch import Tensor

from plasticity_lab.activations.activation import Activation
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Network, Shapes


def classifier(network: Network, activations: Sequence[Activation], image: tuple[int, int, int], classes: int) -> Model:
    """A pack's network from images to logits, as the supervised agent has it."""
    return Model(network, activations, {"image": Shapes(image, {"logits": classes}, batches=True)})


def logits(model: Model, *given) -> tuple[Tensor, dict[str, Tensor]]:
    """The logits (K, B, O) of a forward pass, and what the units give."""
    outputs, hidden = model.forward(*given)
    return outputs["logits"], hidden


def one_by_one(model: Model, parameters, shape, body, x, answers, of) -> dict[str, Tensor]:
    """The gradient of `of` by each example of each run alone, squared and added up: what is too slow and too large."""
    squares = {name: torch.zeros_like(value) for name, value in parameters.items()}
    for run in range(len(x)):
        own, values = ({name: value[run : run + 1] for name, value in group.items()} for group in (shape, parameters))
        for example in range(x.shape[1]):
            values = {name: value.clone().requires_grad_() for name, value in values.items()}
            alone = slice(example, example + 1)
            outputs, _ = model.forward(values, own, x[run : run + 1, alone], None, body)
            told = of(outputs, answers[run : run + 1, alone]).sum()
            gradients = torch.autograd.grad(told, list(values.values()), allow_unused=True, materialize_grads=True)
            for name, gradient in zip(values, gradients, strict=True):
                squares[name][run] += gradient[0].square()
    return squares
