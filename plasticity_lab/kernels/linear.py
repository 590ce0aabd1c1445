"""Stacked linear layers by our kernels, with their gradients, inside and outside of compiled graphs.

Legend: K runs, B examples, I inputs, O outputs.
"""

from typing import Any

import torch
from torch import Tensor


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return torch.ops.plasticity_lab.linear(x, weight, bias)

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        context.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(context: Any, delta: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = context.saved_tensors
        by_x, by_weight, by_bias = context.needs_input_grad
        found = torch.ops.plasticity_lab.linear_input(delta, weight) if by_x else None
        if not (by_weight or by_bias):
            return found, None, None
        return found, *torch.ops.plasticity_lab.linear_weight(x, delta)


def linear(x_KBI: Tensor, weight_KIO: Tensor, bias_K1O: Tensor) -> Tensor:
    """bias + x · weight, (K, B, O).  x (1, B, I): all runs are given it, and nobody asks for a gradient."""
    return _Linear.apply(x_KBI, weight_KIO, bias_K1O)


def tell_shapes() -> None:
    """Tells torch the shapes of what the operators return; once, when they are loaded."""
    fake = torch.library.register_fake

    @fake("plasticity_lab::linear")
    def _(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return x.new_empty(weight.shape[0], x.shape[1], weight.shape[2])

    @fake("plasticity_lab::linear_input")
    def _(delta: Tensor, weight: Tensor) -> Tensor:
        return delta.new_empty(*delta.shape[:2], weight.shape[1])

    @fake("plasticity_lab::linear_weight")
    def _(x: Tensor, delta: Tensor) -> tuple[Tensor, Tensor]:
        shape = x.shape[0], x.shape[2], delta.shape[2]
        return x.new_empty(shape), x.new_empty(shape[0], 1, shape[2])

    for step in ("linear_adam", "linear_sgd"):

        @fake(f"plasticity_lab::{step}")
        def _(*_: Tensor) -> None:
            return None
