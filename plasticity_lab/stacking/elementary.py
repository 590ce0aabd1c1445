"""exp, log, log_softmax and sums over actions, for losses: the same bits alone and in a pack, compiled too.

For one and the same expression torch.compile emits C++'s exp and log in some kernels and vector versions of them in
others, by shapes and by what it fuses, hence by the number of runs in the pack; their last bits differ. So compiled
functions get exp and log composed of operations that IEEE 754 rounds in one way only (+ − × ÷, comparisons, rounding
to integers, bits of the exponent): the same bits in any kernel, off by less than 1 in the last place, and as fast.
Scalar code throughout would hold too, but takes 4 times as long for 64 runs; an operator of our own is never fused,
which makes an update of one run 4 times as long; and rows padded to the vectors' width do not help what is left of a
row after a sum over it. Eager, and on GPUs, an element's value does not depend on its place: there, torch's own serve.

Gradients are those of x − x.detach(), which is 0, times the derivative. (In torch 2.13 a compiled torch.func.grad
ignores the backward of a torch.autograd.Function.) Composed, numbers below the smallest normal one, 1.2e-38, count as
0, as they do on processors told to flush them.
"""

from math import e as euler
from math import inf, log2, nan

import torch
from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.stacking.exact_sums import exact_sums, sums_below_two

LARGEST, SMALLEST = 88.72283172607422, -87.33654022216797  # between them e^x is a normal number
LN2_HIGH, LN2_LOW = 0.693359375, -2.12194440e-4  # multiples of the first by whole numbers up to 2¹³ are exact
# Source of both polynomials: Moshier, Cephes Math Library, expf.c and logf.c. The highest power comes first.
EXP = 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1
LOG = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
TINY = torch.finfo(torch.float32).tiny
EXPONENT = 23  # the bit at which a float32's exponent begins
ROOT_HALF = 0x3F3504F3  # the bits of √½


def exp(x: Tensor) -> Tensor:
    """e^x.  x of any shape, float32 → like x."""
    if not _composed(x):
        return torch.exp(x)
    at = x.detach()
    value = composed_exp(at)
    # x − at is 0 and carries the gradient; where it is not 0 (x infinite), or the value is not finite, it must not add.
    return torch.where((value < inf) & (at > -inf), value + value * (x - at), value)


def log(x: Tensor) -> Tensor:
    """The natural logarithm; −∞ of 0, nan of what is negative.  x of any shape, float32 → like x."""
    if not _composed(x):
        return torch.log(x)
    at = x.detach()
    value = composed_log(at)
    return torch.where(value.abs() < inf, value + (x - at) / at, value)


def log_softmax(x: Tensor) -> Tensor:
    """x − log Σ e^x along the last axis.  x (*, A), float32 → like x."""
    if not _composed(x):
        return torch.log_softmax(x, dim=-1)
    at = x.detach()
    shifted = at - at.amax(dim=-1, keepdim=True)
    parts = composed_exp(shifted)
    total = sums_below_two(parts).unsqueeze(-1)
    change = torch.where(at == -inf, 0.0, x - at)  # 0, and carries the gradient
    return shifted - composed_log(total) + (change - _sum_at_each_place(parts / total * change))


def summed_last(x: Tensor) -> Tensor:
    """The sum along the last axis.  x (*, A), float32 → (*)."""
    if not _composed(x):
        return x.sum(dim=-1)
    return exact_sums(x) + (x - x.detach()).sum(dim=-1)  # the latter is 0 and carries the gradient


def composed_exp(x: Tensor) -> Tensor:
    """e^x without a gradient: 2ⁿ · e^r with n whole and |r| ≤ ½ ln 2.  x of any shape, float32 → like x."""
    inside = x.clamp(SMALLEST, LARGEST)
    n = (inside * log2(euler)).round()
    r = inside - n * LN2_HIGH - n * LN2_LOW
    fraction = polynomial(EXP, r) * (r * r) + r + 1
    power = n.to(torch.int32) << EXPONENT
    value = (fraction.view(torch.int32) + power).view(torch.float32)
    return torch.where(x <= LARGEST, torch.where(x < SMALLEST, 0.0, value), x * inf)


def composed_log(x: Tensor) -> Tensor:
    """The logarithm without a gradient: n ln 2 + log(1 + f) with n whole and √½ ≤ 1 + f < √2.  Like `composed_exp`."""
    bits = torch.where(x >= TINY, x, 1.0).view(torch.int32)
    power = (bits - ROOT_HALF) >> EXPONENT
    f = (bits - (power << EXPONENT)).view(torch.float32) - 1
    n = power.to(torch.float32)
    square = f * f
    value = f + (polynomial(LOG, f) * f * square + n * LN2_LOW - 0.5 * square) + n * LN2_HIGH
    return torch.where(x < TINY, torch.where(x < 0, nan, -inf), torch.where(x < inf, value, x))


def polynomial(coefficients: tuple[float, ...], x: Tensor) -> Tensor:
    """Σ cᵢ xⁱ, the highest power's coefficient first.  x of any shape → like x."""
    highest, *others = coefficients
    total = torch.full_like(x, highest)
    for coefficient in others:
        total = total * x + coefficient
    return total


def _sum_at_each_place(x: Tensor) -> Tensor:
    """The sum along the last axis, laid at each place of it.  x (*, A) → like x.

    The gradient of a sum that is broadcast would be a sum in an order of the compiler's; that of a sum of rolled copies
    is a sum of rolled copies.
    """
    actions = x.shape[-1]
    doublings = (actions - 1).bit_length()
    x = pad(x, (0, 2**doublings - actions))
    for power in range(doublings):
        x = x + x.roll(2**power, dims=-1)
    return x[..., :actions]


def _composed(x: Tensor) -> bool:
    return torch.compiler.is_compiling() and not x.is_cuda
