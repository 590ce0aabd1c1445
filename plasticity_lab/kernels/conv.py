"""Stacked convolutions by our kernels, with their gradients, inside and outside of compiled graphs.

Legend: K runs, B examples, C channels, H, W rows and columns, P numbers of a patch, C·kernel², O output channels.
"""

from typing import Any

import torch
from torch import Tensor


class _Conv(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor, kernel: int, margin: int) -> Tensor:
        return torch.ops.plasticity_lab.conv(x, weight, bias, kernel, margin)

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        x, weight, _, context.kernel, context.margin = inputs
        context.save_for_backward(x, weight)

    @staticmethod
    def backward(context: Any, delta: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = context.saved_tensors
        by_x, by_weight, by_bias, *_ = context.needs_input_grad
        kernels, patch = torch.ops.plasticity_lab, (context.kernel, context.margin)
        delta = delta.contiguous()  # as x
        found = kernels.conv_input(delta, weight, *patch) if by_x else None
        weights = kernels.conv_weight(x, delta, *patch) if by_weight or by_bias else (None, None)
        return found, *weights, None, None


def conv(x_KBHWC: Tensor, weight_KPO: Tensor, bias_K1O: Tensor, kernel: int, margin: int) -> Tensor:
    """bias + patches of x · weight, (K, B, H', W', O).

    kernel: rows and columns of a patch, whose numbers lie channel by channel in the weights. margin: rows and columns
    of zeros around each image, less than kernel.
    """
    # Channels next to each other: compiled, the loop that computes them writes them so.
    return _Conv.apply(x_KBHWC.contiguous(), weight_KPO, bias_K1O, kernel, margin)


def tell_shapes() -> None:
    """Tells torch the shapes of what the operators return; once, when they are loaded."""
    fake = torch.library.register_fake

    @fake("plasticity_lab::conv")
    def _(x: Tensor, weight: Tensor, bias: Tensor, kernel: int, margin: int) -> Tensor:
        return x.new_empty(*x.shape[:2], *(side + 2 * margin - kernel + 1 for side in x.shape[2:4]), weight.shape[2])

    @fake("plasticity_lab::conv_input")
    def _(delta: Tensor, weight: Tensor, kernel: int, margin: int) -> Tensor:
        image = (side + kernel - 1 - 2 * margin for side in delta.shape[2:4])
        return delta.new_empty(*delta.shape[:2], *image, weight.shape[1] // kernel**2)

    @fake("plasticity_lab::conv_weight")
    def _(x: Tensor, delta: Tensor, kernel: int, margin: int) -> tuple[Tensor, Tensor]:
        runs, outputs = len(x), delta.shape[4]
        return x.new_empty(runs, x.shape[4] * kernel**2, outputs), x.new_empty(runs, 1, outputs)
