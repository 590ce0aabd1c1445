"""Shares of tables by our kernels, with their gradient, inside and outside of compiled graphs.

Legend: N tables, R rows, C columns.
"""

from typing import Any

import torch
from torch import Tensor


class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, of_columns: bool, there: int) -> Tensor:
        return torch.ops.plasticity_lab.softmax(x, of_columns, there)

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        context.of_columns = inputs[1]
        context.save_for_backward(output)

    @staticmethod
    def backward(context: Any, delta: Tensor) -> tuple[Tensor | None, ...]:
        (shares,) = context.saved_tensors
        return torch.ops.plasticity_lab.softmax_input(delta.contiguous(), shares, context.of_columns), None, None


def softmax(x_NRC: Tensor, of_columns: bool, there: int) -> Tensor:
    """e^x over its sum, down each column or along each row → (N, R, C).

    there: how many rows take part in a column; those behind them have 0. Of rows all take part.
    """
    return _Softmax.apply(x_NRC.contiguous(), of_columns, there)


def tell_shapes() -> None:
    """Tells torch the shapes of what the operators return; once, when they are loaded."""
    fake = torch.library.register_fake

    @fake("plasticity_lab::softmax")
    def _(x: Tensor, of_columns: bool, there: int) -> Tensor:
        return torch.empty_like(x)

    @fake("plasticity_lab::softmax_input")
    def _(delta: Tensor, shares: Tensor, of_columns: bool) -> Tensor:
        return torch.empty_like(shares)
