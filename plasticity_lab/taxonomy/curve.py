"""An activation as a function of one number: φ, φ′ and φ″ in float64.

Legend: N numbers, O outputs for each of them.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from plasticity_lab.activations.activation import Activation, Site


@dataclass(frozen=True)
class Curve:
    """What an activation does at some numbers.

    x (N,); value φ, slope φ′ and bend φ″ (N, O). Most activations have one output. CReLU and Deep Fourier have two for
    each input.
    """

    x: Tensor
    value: Tensor
    slope: Tensor
    bend: Tensor

    @property
    def size(self) -> Tensor:
        """|φ′|, (N,): the root of the sum of squares over the outputs, as a gradient comes back through all of them."""
        return torch.linalg.vector_norm(self.slope, dim=1)


def curve(activation: Activation, x: Tensor, drawn: float | None = None, moved: tuple[str, int] | None = None) -> Curve:
    """The curve of an activation as it starts, at x (N,) float64.

    drawn: what a randomised activation draws, from 0 (its lower bound) to 1 (its upper one), the same everywhere; None:
    as it is evaluated, with the mean. moved: (name, place) of a learnable value that is 0.001 greater than it starts.
    SwiGLU takes two numbers: x is the one that gates, the other is 1.
    """
    at = x.detach().clone().requires_grad_()
    received = activation.expansion.denominator
    others = torch.ones(1, len(at), received - 1, dtype=at.dtype)
    inputs = torch.cat([others, at.reshape(1, -1, 1)], dim=2)
    value = activation(inputs, _site(activation, inputs, drawn, moved))[0]
    slope = torch.stack([_derivative(each, at) for each in value.unbind(1)], dim=1)
    bend = torch.stack([_derivative(each, at) for each in slope.unbind(1)], dim=1)
    return Curve(x.detach(), value.detach(), slope.detach(), bend.detach())


def _site(activation: Activation, inputs: Tensor, drawn: float | None, moved: tuple[str, int] | None) -> Site:
    shape = {name: torch.tensor([value], dtype=inputs.dtype) for name, value in activation.on_run_axis().items()}
    learned = {
        name: torch.tensor([list(each.start)], dtype=inputs.dtype)
        for name, each in activation.learnable(inputs.shape[2]).items()
    }
    if moved is not None:
        learned[moved[0]][0, moved[1]] += 1e-3
    uniform = torch.full_like(inputs, drawn) if drawn is not None and activation.randomised else None
    return Site(shape, learned, uniform)


def _derivative(of: Tensor, at: Tensor) -> Tensor:
    """Each number's derivative by its own x.  of, at (N,) → (N,)."""
    if not of.requires_grad:  # a slope that is constant
        return torch.zeros_like(at)
    (found,) = torch.autograd.grad(of.sum(), at, create_graph=True, allow_unused=True, materialize_grads=True)
    return found
