"""Products of matrices and convolutions of each run on a GPU, with gradients, inside and outside of compiled graphs.

The gradients can be differentiated again, in any order. Convolutions have stride 1 and no margins: zeros are added
around the images before. On a CPU these operators compute the same with torch; only tests use that.

Legend: K runs, (M, R) times (R, N); B examples, C input channels, H, W rows and columns, H', W' rows and columns of the
output, O output channels, P numbers of a patch, C·kernel².
"""

import importlib.util
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import conv2d, pad, unfold

MOST = 2**31
"""The kernels count a run's numbers with 32 bits."""
LACK = (
    "On %s our kernels for GPUs do not run (%s). torch computes the layers instead, more slowly. The last digits of a "
    "run then depend on the other runs of its pack. The kernels need Triton, a C compiler and Python's headers: pip "
    "install triton; apt install gcc python3-dev, or CC=PATH."
)
REASON = 300
"""The most characters of an error in it."""
log = logging.getLogger(__name__)
_tried: dict[torch.device, str | None] = {}


def serves(x: Tensor) -> bool:
    """Whether products of these numbers are computed here: float32 on a GPU that can run the kernels.

    Raises as `hindrance`.
    """
    return x.is_cuda and x.dtype == torch.float32 and hindrance(x.device) is None


def hindrance(device: torch.device) -> str | None:
    """The reason why our kernels do not run on a GPU; None if they do. One is tried, once in a process; a failure is
    logged.

    Raises OutOfMemoryError if the GPU is full, and AcceleratorError if it is lost.
    """
    if device not in _tried:
        # In another thread torch neither traces nor records what it does.
        with ThreadPoolExecutor(1) as thread:
            _tried[device] = thread.submit(_trial, device).result()
        if reason := _tried[device]:
            log.warning(LACK, device, reason)
    return _tried[device]


# A constant in compiled graphs. `torch.compiler.assume_constant_result` says so too, and imports torch's compiler.
hindrance._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _trial(device: torch.device) -> str | None:
    """The reason why a small product fails; None if it is right."""
    if importlib.util.find_spec("triton") is None:
        return "Triton is not installed"
    try:
        right = _product_of_ones(device)
    except (torch.OutOfMemoryError, torch.AcceleratorError):
        raise
    except Exception as error:  # by Triton, its compiler, the C compiler or the driver
        return f"{type(error).__name__}: {error}".partition("\n")[0][:REASON]
    return None if right else "a product is wrong"


def _product_of_ones(device: torch.device) -> bool:
    """Whether the product of two matrices of 16 × 16 ones has the number 16 everywhere."""
    from plasticity_lab.kernels.triton_kernels import product  # a CPU needs no Triton

    with torch.cuda.device(device):
        ones = torch.ones(1, 16, 16, device=device)
        return bool((product(ones, ones, None) == 16).all())


@torch.library.custom_op("plasticity_lab::product", mutates_args=())
def _product(a: Tensor, b: Tensor, bias: Tensor | None) -> Tensor:
    if not a.is_cuda:
        return torch.bmm(a, b) if bias is None else torch.baddbmm(bias, a, b)
    from plasticity_lab.kernels.triton_kernels import product as on_gpu

    with torch.cuda.device(a.device):
        return on_gpu(a, b, bias)


@_product.register_fake
def _(a: Tensor, b: Tensor, bias: Tensor | None) -> Tensor:
    return a.new_empty(a.shape[0], a.shape[1], b.shape[2])


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(a: Tensor, b: Tensor, bias: Tensor | None) -> Tensor:
        return _product(a, b, bias)

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        context.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(context: Any, delta: Tensor) -> tuple[Tensor | None, ...]:
        a, b = context.saved_tensors
        by_a, by_b, by_bias = context.needs_input_grad
        # A sum over rows is a product too: its order is fixed.
        ones = delta.new_ones(1, 1, 1).expand(delta.shape[0], 1, delta.shape[1])
        return (
            _Product.apply(delta, b.transpose(1, 2), None) if by_a else None,
            _Product.apply(a.transpose(1, 2), delta, None) if by_b else None,
            _Product.apply(ones, delta, None) if by_bias else None,
        )


def product(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """a (K, M, R) times b (K, R, N), plus bias (K, 1, N) → (K, M, N)."""
    return _Product.apply(a, b, bias)


@torch.library.custom_op("plasticity_lab::convolution", mutates_args=())
def _convolution(x: Tensor, weight: Tensor, bias: Tensor | None, kernel: int) -> Tensor:
    _check(x, weight.shape[2])
    if not x.is_cuda:
        shape = (weight.shape[2], x.shape[2], kernel, kernel)
        kernels = weight.transpose(1, 2).reshape(len(x), *shape)
        shifts = [None] * len(x) if bias is None else [own[0] for own in bias]
        return torch.stack([conv2d(*own) for own in zip(x, kernels, shifts, strict=True)])
    from plasticity_lab.kernels.triton_kernels import convolution as on_gpu

    with torch.cuda.device(x.device):
        return on_gpu(x, weight, bias, kernel)


@_convolution.register_fake
def _(x: Tensor, weight: Tensor, bias: Tensor | None, kernel: int) -> Tensor:
    return x.new_empty(*x.shape[:2], weight.shape[2], x.shape[3] - kernel + 1, x.shape[4] - kernel + 1)


@torch.library.custom_op("plasticity_lab::convolution_gradients", mutates_args=())
def _gradients(x: Tensor, delta: Tensor, kernel: int) -> Tensor:
    _check(x, delta.shape[2])
    if not x.is_cuda:
        patches = torch.stack([unfold(own, kernel) for own in x])  # (K, B, P, places)
        weight = torch.einsum("kbpm,kbom->kpo", patches, delta.flatten(3))
        return torch.cat([weight, delta.sum(dim=(1, 3, 4)).unsqueeze(1)], dim=1)
    from plasticity_lab.kernels.triton_kernels import gradients as on_gpu

    with torch.cuda.device(x.device):
        return on_gpu(x, delta, kernel)


@_gradients.register_fake
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
        return _convolution(x, weight, bias, kernel)

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
        return _gradients(x, delta, kernel)

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
    """The gradient by the images: delta within zeros, convolved with the kernel rotated by 180°."""
    around = kernel - 1
    turned = weight.unflatten(1, (-1, kernel, kernel)).flip(2, 3).permute(0, 4, 2, 3, 1)  # (K, O, kernel, kernel, C)
    return _Convolution.apply(pad(delta, (around,) * 4), turned.flatten(1, 3), None, kernel)


def convolution(x: Tensor, weight: Tensor, bias: Tensor | None, kernel: int) -> Tensor:
    """x (K, B, C, H, W) by weight (K, P, O), plus bias (K, 1, O) → (K, B, O, H', W').

    Raises ValueError if a run has 2³¹ numbers or more.
    """
    return _Convolution.apply(x, weight, bias, kernel)
