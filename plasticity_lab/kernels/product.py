"""Products of each run's matrices on a GPU, with gradients of any order, inside and outside of compiled graphs.

Legend: K runs, (M, R) times (R, N).
"""

import importlib.util
from typing import Any

import torch
from torch import Tensor


def serves(x: Tensor) -> bool:
    """Whether a product of these numbers is taken here: on a GPU, in float32, where there is Triton."""
    return x.is_cuda and x.dtype == torch.float32 and _TRITON


_TRITON = importlib.util.find_spec("triton") is not None


@torch.library.custom_op("plasticity_lab::product", mutates_args=())
def _of_values(a: Tensor, b: Tensor, bias: Tensor | None) -> Tensor:
    if not a.is_cuda:  # in tests
        return torch.bmm(a, b) if bias is None else torch.baddbmm(bias, a, b)
    from plasticity_lab.kernels.product_on_gpu import product as on_gpu  # Triton, which a CPU need not have

    with torch.cuda.device(a.device):
        return on_gpu(a, b, bias)


@_of_values.register_fake
def _(a: Tensor, b: Tensor, bias: Tensor | None) -> Tensor:
    return a.new_empty(a.shape[0], a.shape[1], b.shape[2])


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(a: Tensor, b: Tensor, bias: Tensor | None) -> Tensor:
        return _of_values(a, b, bias)

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        context.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(context: Any, delta: Tensor) -> tuple[Tensor | None, ...]:
        a, b = context.saved_tensors
        by_a, by_b, by_bias = context.needs_input_grad
        # A sum over rows is a product, too: its order is fixed as theirs is.
        ones = delta.new_ones(1, 1, 1).expand(delta.shape[0], 1, delta.shape[1])
        return (
            _Product.apply(delta, b.transpose(1, 2), None) if by_a else None,
            _Product.apply(a.transpose(1, 2), delta, None) if by_b else None,
            _Product.apply(ones, delta, None) if by_bias else None,
        )


def product(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """a (K, M, R) times b (K, R, N), plus bias (K, 1, N) → (K, M, N)."""
    return _Product.apply(a, b, bias)
