"""Elementary functions with the same bits alone and in a pack, in eager and in compiled code.

For the same expression torch.compile emits C++'s exp, tanh and others in some kernels, and vector versions in others.
It chooses by shapes and by fusion, hence by the number of runs in the pack, and the last bits differ. So compiled code
gets functions composed of operations that IEEE 754 rounds in one way only (`composed`): the same bits in any kernel,
and about as fast. Each is one call in a compiled loop (`kernels.written_calls`). Rejected alternatives: scalar code
takes 4 times as long for 64 runs; an operator of our own is never fused, so an update of one run takes 4 times as long;
padding rows to the width of vectors does not help after a sum over a row. With our kernels, though, `log_softmax` and
exact sums are operators with the same bits: torch's compiler would analyse 30 to 60 operations for each. In eager mode
and on GPUs an element's value does not depend on its place, so torch's own functions are used.

Gradients come from x − x.detach(), which is 0, times the derivative. (In torch 2.13 a compiled torch.func.grad ignores
the backward of a torch.autograd.Function.) If no gradient is required, nothing is computed for it.
"""

from math import inf, pi, sqrt

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.functional import pad

from plasticity_lab.kernels import layers, operators
from plasticity_lab.kernels.written_calls import call, declare
from plasticity_lab.stacking import composed
from plasticity_lab.stacking.products import exact_sums, sums_below_two

for _function in (composed.exp, composed.expm1, composed.log, composed.tanh, composed.erf):
    declare(_function.__name__, _function)
declare("sin", lambda x: composed.sin_and_cos(x)[0])
declare("cos", lambda x: composed.sin_and_cos(x)[1])


def compiles_for_cpu(x: Tensor) -> bool:
    """Whether operations on x are being traced into a graph for a CPU."""
    return torch.compiler.is_compiling() and x.device.type == "cpu"


def exp(x: Tensor) -> Tensor:
    """e^x.  x of any shape, float32 → like x."""
    if not compiles_for_cpu(x):
        return torch.exp(x)
    at = x.detach()
    value = call("exp", at)
    if not _differentiated(x):
        return value
    # x − at is 0 and carries the gradient. If it is not 0 (x infinite), or the value is not finite, it must not be
    # added.
    return torch.where((value < inf) & (at > -inf), value + value * (x - at), value)


def log(x: Tensor) -> Tensor:
    """The natural logarithm; −∞ at 0, nan for negative numbers.  x of any shape, float32 → like x."""
    if not compiles_for_cpu(x):
        return torch.log(x)
    at = x.detach()
    value = call("log", at)
    if not _differentiated(x):
        return value
    return torch.where(value.abs() < inf, value + (x - at) / at, value)


def exp_minus_one(x: Tensor) -> Tensor:
    """e^x − 1 with derivative e^x, both to the last digits.  x ≤ 0, of any shape → like x.

    Autograd takes expm1(x) + 1 for the derivative of expm1, which is 0 below −16.6 in float32. Units there would be
    dead by mistake.
    """
    if not compiles_for_cpu(x):
        derivative = torch.exp(x)
        return torch.expm1(x).detach() + (derivative - derivative.detach())
    at = x.detach()
    value = call("expm1", at)
    return value + call("exp", at) * _change(x, at) if _differentiated(x) else value


def tanh(x: Tensor) -> Tensor:
    """The hyperbolic tangent.  x of any shape, float32 → like x."""
    if not compiles_for_cpu(x):
        return torch.tanh(x)
    at = x.detach()
    value = call("tanh", at)
    return value + (1 - value * value) * _change(x, at) if _differentiated(x) else value


def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + e^−x), to the last digits in both tails.  x of any shape, float32 → like x.

    The threshold is max(x, −88) (torch.clamp has a slow backward on CPU). It keeps e^−x finite, and with it the
    gradient e^−x / (1 + e^−x)². The gradient is 0 if it would be below 1e-19 on the left.
    """
    return (exp(-functional.threshold(x, -88.0, -88.0)) + 1).reciprocal()


def erfi(x: Tensor) -> Tensor:
    """The imaginary error function, 2/√π ∫ e^t² dt from 0 to x, without a gradient; ±∞ from |x| = 9.42 on.

    x of any shape, float32 → like x. Composed in eager mode and on GPUs too, since torch has no such function.
    """
    return composed.erfi(x.detach())


def gelu(x: Tensor) -> Tensor:
    """x · Φ(x), Φ the normal distribution function.  x of any shape, float32 → like x."""
    if not compiles_for_cpu(x):
        return functional.gelu(x)
    at = x.detach()
    below = 0.5 * (1 + call("erf", at * sqrt(0.5)))
    if not _differentiated(x):
        return at * below
    density = call("exp", -0.5 * at * at) * (1 / sqrt(2 * pi))
    return at * below + (below + at * density) * _change(x, at)


def normal_distribution(x: Tensor) -> Tensor:
    """The share of a standard normal distribution that lies below x.  x of any shape, float32 → like x."""
    if not compiles_for_cpu(x):
        return 0.5 * (1 + torch.erf(x * sqrt(0.5)))
    at = x.detach()
    value = 0.5 * (1 + call("erf", at * sqrt(0.5)))
    if not _differentiated(x):
        return value
    density = call("exp", at * at * -0.5) * (1 / sqrt(2 * pi))
    return value + density * _change(x, at)


def sin_and_cos(x: Tensor) -> tuple[Tensor, Tensor]:
    """Sine and cosine.  x of any shape, float32 → twice like x."""
    if not compiles_for_cpu(x):
        return torch.sin(x), torch.cos(x)
    at = x.detach()
    sine, cosine = call("sin", at), call("cos", at)
    if not _differentiated(x):
        return sine, cosine
    change = _change(x, at)
    return sine + cosine * change, cosine - sine * change


def whole_power(x: Tensor, exponent: int) -> Tensor:
    """x to a power of 0 or more.  x of any shape → like x."""
    if not compiles_for_cpu(x):
        return x**exponent
    if exponent == 0:
        return torch.ones_like(x)
    root = whole_power(x, exponent // 2)
    square = root * root
    return square * x if exponent % 2 else square


def log_softmax(x: Tensor) -> Tensor:
    """x − log Σ e^x along the last axis.  x (*, A), float32 → like x."""
    if not compiles_for_cpu(x):
        return torch.log_softmax(x, dim=-1)
    if operators.serve(x):
        return layers.log_softmax(x) if _differentiated(x) else torch.ops.plasticity_lab.log_softmax(x)
    at = x.detach()
    shifted = at - at.amax(dim=-1, keepdim=True)
    parts = call("exp", shifted)
    total = sums_below_two(parts).unsqueeze(-1)
    value = shifted - call("log", total)
    if not _differentiated(x):
        return value
    change = torch.where(at == -inf, 0.0, x - at)  # 0, and carries the gradient
    return value + (change - _sum_at_each_place(parts / total * change))


def log_softmax_at(x: Tensor, index: Tensor) -> Tensor:
    """One entry of `log_softmax` for each row.  x (*, A), float32, index (*) whole → (*).

    The gradient of one entry needs no sum: it is 1 at the index, minus the shares of e^x.
    """
    if not compiles_for_cpu(x):
        return torch.log_softmax(x, dim=-1).gather(-1, index.unsqueeze(-1)).squeeze(-1)
    if operators.serve(x):
        return layers.log_softmax_at(x, index)
    at = x.detach()
    shifted = at - at.amax(dim=-1, keepdim=True)
    parts = call("exp", shifted)
    total = sums_below_two(parts)
    chosen = torch.arange(x.shape[-1], device=x.device) == index.unsqueeze(-1)
    own = torch.where(chosen, shifted, -inf).amax(dim=-1)
    if not _differentiated(x):
        return own - call("log", total)
    change = torch.where(at == -inf, 0.0, x - at)  # 0, and carries the gradient
    return own - call("log", total) + ((chosen.to(x.dtype) - parts / total.unsqueeze(-1)) * change).sum(dim=-1)


def summed_last(x: Tensor) -> Tensor:
    """The sum along the last axis.  x (*, A), float32 → (*)."""
    if not compiles_for_cpu(x):
        return x.sum(dim=-1)
    value = exact_sums(x)
    return value + (x - x.detach()).sum(dim=-1) if _differentiated(x) else value  # plus 0, with the gradient


def normals(uniforms_KN: Tensor) -> Tensor:
    """Independent standard normal numbers.  uniforms (K, N) in [0, 1), N even → like them.

    Source: Box and Muller 1958. On the grid of `randomness.device.uniforms` none is larger than 5.8.
    """
    if operators.serve(uniforms_KN):
        return torch.ops.plasticity_lab.normals(uniforms_KN)
    first, second = uniforms_KN.chunk(2, dim=1)
    radius = (-2 * log(1 - first)).sqrt()
    sine, cosine = sin_and_cos(2 * pi * second)
    return torch.cat([radius * cosine, radius * sine], dim=1)


def _sum_at_each_place(x: Tensor) -> Tensor:
    """The sum along the last axis, at each place of it.  x (*, A) → like x.

    The gradient of a broadcast sum would be a sum in an order that the compiler chooses. The gradient of a sum of
    rolled copies is a sum of rolled copies.
    """
    actions = x.shape[-1]
    doublings = (actions - 1).bit_length()
    x = pad(x, (0, 2**doublings - actions))
    for power in range(doublings):
        x = x + x.roll(2**power, dims=-1)
    return x[..., :actions]


def _change(x: Tensor, at: Tensor) -> Tensor:
    """x minus its value: 0 with the gradient of x; 0 without a gradient if x is infinite."""
    return torch.where(at.abs() < inf, x - at, 0.0)


def _differentiated(x: Tensor) -> bool:
    """Whether a gradient by x is required.

    If x is an argument of torch.func.grad, torch.compile says no for x itself, and yes for a view of it.
    """
    return x.view_as(x).requires_grad
