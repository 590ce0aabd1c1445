"""Layers by our CPU kernels, with their gradients, inside and outside of compiled graphs.

Legend: K runs, B examples, I inputs, O outputs or output channels, P numbers of a patch, C·kernel²; N images or tables,
C channels or columns, H, W rows and columns of an image, R rows, S columns of windows.
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
        of_x = torch.ops.plasticity_lab.linear_input(delta, weight) if by_x else None
        if not (by_weight or by_bias):
            return of_x, None, None
        return of_x, *torch.ops.plasticity_lab.linear_weight(x, delta)


def linear(x_KBI: Tensor, weight_KIO: Tensor, bias_K1O: Tensor) -> Tensor:
    """bias + x · weight, (K, B, O).  x (1, B, I): the input of all runs; it has no gradient."""
    return _Linear.apply(x_KBI, weight_KIO, bias_K1O)


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
        of_x = kernels.conv_input(delta, weight, *patch) if by_x else None
        weights = kernels.conv_weight(x, delta, *patch) if by_weight or by_bias else (None, None)
        return of_x, *weights, None, None


def conv(x_KBHWC: Tensor, weight_KPO: Tensor, bias_K1O: Tensor, kernel: int, margin: int) -> Tensor:
    """bias + patches of x · weight, (K, B, H', W', O).

    kernel: rows and columns of a patch; the weights store its numbers channel by channel. margin: rows and columns of
    zeros around each image, fewer than kernel.
    """
    # Channels last: the compiled loop that computes them writes them in this layout.
    return _Conv.apply(x_KBHWC.contiguous(), weight_KPO, bias_K1O, kernel, margin)


class _Pool(torch.autograd.Function):
    @staticmethod
    def forward(
        x: Tensor, size: int, stride: int, above: int, left: int, high: int, wide: int
    ) -> tuple[Tensor, Tensor]:
        return torch.ops.plasticity_lab.pool(x, size, stride, above, left, high, wide)

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        x, *context.windows, _, _ = inputs
        context.image = x.shape[1:3]
        context.mark_non_differentiable(output[1])
        context.save_for_backward(output[1])

    @staticmethod
    def backward(context: Any, delta: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        (where,) = context.saved_tensors
        of_x = torch.ops.plasticity_lab.pool_input(delta.contiguous(), where, *context.windows, *context.image)
        return of_x, *[None] * 6


def pool(x_NHWC: Tensor, size: int, stride: int, above: int, left: int, high: int, wide: int) -> Tensor:
    """The largest of each size × size pixels, in steps of `stride`: (N, R, S, C).

    above, left: rows and columns of the first window outside of the image. high, wide: R and S. Pixels outside of the
    image do not count.
    """
    return _Pool.apply(x_NHWC.contiguous(), size, stride, above, left, high, wide)[0]


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

    there: the number of rows that take part in a column; the rows behind them get 0. In rows all columns take part.
    """
    return _Softmax.apply(x_NRC.contiguous(), of_columns, there)


class _BatchNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        x: Tensor, weights: Tensor, scale: Tensor, shift: Tensor, epsilon: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        return torch.ops.plasticity_lab.batch_norm(x, weights, scale, shift, epsilon)

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        x, weights, scale, _, context.epsilon = inputs
        context.mark_non_differentiable(*output[1:])
        context.save_for_backward(x, weights, scale, *output[1:])

    @staticmethod
    def backward(context: Any, delta: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        found = torch.ops.plasticity_lab.batch_norm_inputs(delta.contiguous(), *context.saved_tensors, context.epsilon)
        by_x, by_scale, by_shift = found
        return by_x, None, by_scale, by_shift, None


def batch_norm(
    x_KRC: Tensor, weights_B: Tensor, scale_K1C: Tensor, shift_K1C: Tensor, epsilon: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Each channel normalised by its mean and variance over the batch, scaled and shifted, (K, R, C); and these two.

    weights: the shares of the examples, which add up to 1; the rows of an example are next to each other. The mean and
    the biased variance, (K, 1, C), have no gradient.
    """
    return _BatchNorm.apply(x_KRC.contiguous(), weights_B, scale_K1C, shift_K1C, epsilon)


class _LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, scale: Tensor, shift: Tensor, epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
        return torch.ops.plasticity_lab.layer_norm(x, scale, shift, epsilon)

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        x, scale, _, context.epsilon = inputs
        context.mark_non_differentiable(*output[1:])
        context.save_for_backward(x, scale, *output[1:])

    @staticmethod
    def backward(context: Any, delta: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        return *torch.ops.plasticity_lab.layer_norm_inputs(
            delta.contiguous(), *context.saved_tensors, context.epsilon
        ), None


def layer_norm(x_KRC: Tensor, scale_K1C: Tensor, shift_K1C: Tensor, epsilon: float) -> Tensor:
    """Each row normalised to mean 0 and variance 1, then scaled and shifted, (K, R, C)."""
    return _LayerNorm.apply(x_KRC.contiguous(), scale_K1C, shift_K1C, epsilon)[0]


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(queries: Tensor, keys: Tensor, values: Tensor, tokens: int, heads: int) -> Tensor:
        return torch.ops.plasticity_lab.attention(queries, keys, values, tokens, heads)

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        *tables, context.tokens, context.heads = inputs
        context.save_for_backward(*tables)

    @staticmethod
    def backward(context: Any, delta: Tensor) -> tuple[Tensor | None, ...]:
        of_inputs = torch.ops.plasticity_lab.attention_inputs
        return *of_inputs(delta.contiguous(), *context.saved_tensors, context.tokens, context.heads), None, None


def attention(queries_KRD: Tensor, keys_KRD: Tensor, values_KRD: Tensor, tokens: int, heads: int) -> Tensor:
    """For each example and head softmax(Q Kᵀ / √d) V, the heads next to each other, (K, R, D).

    tokens: rows of an example, which are next to each other. heads: D is d numbers for each.
    """
    return _Attention.apply(queries_KRD, keys_KRD, values_KRD, tokens, heads)


class _Gelu(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, beta: Tensor) -> tuple[Tensor, Tensor]:
        return torch.ops.plasticity_lab.gelu(x, beta)

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor]) -> None:
        context.mark_non_differentiable(output[1])
        context.save_for_backward(inputs[1], output[1])

    @staticmethod
    def backward(context: Any, delta: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        beta, slope = context.saved_tensors
        return delta * slope * beta.view(-1, *[1] * (slope.dim() - 1)), None


def gelu(x: Tensor, beta_K: Tensor) -> Tensor:
    """GELU at βx, like x (K, *): the bits and the gradient of `stacking.elementary.gelu` in compiled code.

    There is no gradient by β.
    """
    return _Gelu.apply(x, beta_K)[0]


class _LogSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return torch.ops.plasticity_lab.log_softmax(x)

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        context.save_for_backward(*inputs)

    @staticmethod
    def backward(context: Any, delta: Tensor) -> Tensor:
        return torch.ops.plasticity_lab.log_softmax_input(delta, *context.saved_tensors)


def log_softmax(x: Tensor) -> Tensor:
    """x (*, A) → like x: the bits and the gradient of `stacking.elementary.log_softmax` in compiled code."""
    return _LogSoftmax.apply(x)


class _LogSoftmaxAt(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, index: Tensor) -> Tensor:
        return torch.ops.plasticity_lab.log_softmax_at(x, index)

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        context.save_for_backward(*inputs)

    @staticmethod
    def backward(context: Any, delta: Tensor) -> tuple[Tensor, None]:
        return torch.ops.plasticity_lab.log_softmax_at_input(delta, *context.saved_tensors), None


def log_softmax_at(x: Tensor, index: Tensor) -> Tensor:
    """x (*, A), index (*) whole → (*): as above, of `stacking.elementary.log_softmax_at`."""
    return _LogSoftmaxAt.apply(x, index)


WHOLE = linear, conv, pool, softmax, batch_norm, layer_norm, attention, gelu
"""Functions that are not traced into by torch.compile. Otherwise torch 2.13 loses their backward under torch.func.grad.
"""
