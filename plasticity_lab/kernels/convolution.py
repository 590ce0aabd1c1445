"""Convolutions of each run's images on a GPU, with gradients of any order, inside and outside of compiled graphs.

All are of stride 1 and without margins: zeros are laid around images before.

Legend: K runs, B examples, C input channels, H, W rows and columns, H', W' those of places where the kernel lies, O
output channels, P numbers of a patch, C·kernel².
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import conv2d, pad, unfold

MOST = 2**31
"""The kernels count a run's numbers with 32 bits."""


@torch.library.custom_op("plasticity_lab::convolution", mutates_args=())
def _of_values(x: Tensor, weight: Tensor, bias: Tensor | None, kernel: int) -> Tensor:
    _check(x, weight.shape[2])
    if not x.is_cuda:  # in tests
        shape = (weight.shape[2], x.shape[2], kernel, kernel)
        kernels = weight.transpose(1, 2).reshape(len(x), *shape)
        shifts = [None] * len(x) if bias is None else [own[0] for own in bias]
        return torch.stack([conv2d(*own) for own in zip(x, kernels, shifts, strict=True)])
    from plasticity_lab.kernels.convolution_on_gpu import convolution as on_gpu  # Triton, which a CPU need not have

    with torch.cuda.device(x.device):
        return on_gpu(x, weight, bias, kernel)


@_of_values.register_fake
def _(x: Tensor, weight: Tensor, bias: Tensor | None, kernel: int) -> Tensor:
    return x.new_empty(*x.shape[:2], weight.shape[2], x.shape[3] - kernel + 1, x.shape[4] - kernel + 1)


@torch.library.custom_op("plasticity_lab::convolution_gradients", mutates_args=())
def _gradients_of_values(x: Tensor, delta: Tensor, kernel: int) -> Tensor:
    _check(x, delta.shape[2])
    if not x.is_cuda:  # in tests
        patches = torch.stack([unfold(own, kernel) for own in x])  # (K, B, P, places)
        weight = torch.einsum("kbpm,kbom->kpo", patches, delta.flatten(3))
        return torch.cat([weight, delta.sum(dim=(1, 3, 4)).unsqueeze(1)], dim=1)
    from plasticity_lab.kernels.convolution_on_gpu import gradients as on_gpu

    with torch.cuda.device(x.device):
        return on_gpu(x, delta, kernel)


@_gradients_of_values.register_fake
def _(x: Tensor, delta: Tensor, kernel: int) -> Tensor:
    return x.new_empty(len(x), x.shape[2] * kernel**2 + 1, delta.shape[2])


def _check(x: Tensor, outputs: int) -> None:
    _, examples, channels, height, width = x.shape
    count = examples * max(channels, outputs) * height * width
    if count >= MOST:
        raise ValueError(
            f"A convolution of one run has {count:,} numbers, and {MOST - 1:,} at most; give it fewer images."
        )


class _Convolution(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor | None, kernel: int) -> Tensor:
        return _of_values(x, weight, bias, kernel)

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        context.save_for_backward(*inputs[:2])
        context.kernel = inputs[3]

    @staticmethod
    def backward(context: Any, delta: Tensor) -> tuple[Tensor | None, ...]:
        (x, weight), kernel = context.saved_tensors, context.kernel
        by_x, by_weight, by_bias, _ = context.needs_input_grad
        own = _Gradients.apply(x, delta, kernel) if by_weight or by_bias else None
        return (
            _turned(delta, weight, kernel) if by_x else None,
            own[:, :-1] if own is not None and by_weight else None,
            own[:, -1:] if own is not None and by_bias else None,
            None,
        )


class _Gradients(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, delta: Tensor, kernel: int) -> Tensor:
        return _gradients_of_values(x, delta, kernel)

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        context.save_for_backward(*inputs[:2])
        context.kernel = inputs[2]

    @staticmethod
    def backward(context: Any, by_found: Tensor) -> tuple[Tensor | None, ...]:
        (x, delta), kernel = context.saved_tensors, context.kernel
        by_x, by_delta, _ = context.needs_input_grad
        weight, bias = by_found[:, :-1], by_found[:, -1:]
        return (
            _turned(delta, weight, kernel) if by_x else None,
            _Convolution.apply(x, weight, bias, kernel) if by_delta else None,
            None,
        )


def _turned(delta: Tensor, weight: Tensor, kernel: int) -> Tensor:
    """The gradient by the images: delta within zeros, convolved with the kernel turned by half a turn."""
    around = kernel - 1
    turned = weight.unflatten(1, (-1, kernel, kernel)).flip(2, 3).permute(0, 4, 2, 3, 1)  # (K, O, kernel, kernel, C)
    return _Convolution.apply(pad(delta, (around,) * 4), turned.flatten(1, 3), None, kernel)


def convolution(x: Tensor, weight: Tensor, bias: Tensor | None, kernel: int) -> Tensor:
    """x (K, B, C, H, W) by weight (K, P, O), plus bias (K, 1, O) → (K, B, O, H', W').

    Raises ValueError where a run has 2³¹ numbers or more.
    """
    return _Convolution.apply(x, weight, bias, kernel)
