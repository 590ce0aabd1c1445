"""Elementary functions composed of operations that IEEE 754 rounds in one way only: their values, without gradients.

These are + − × ÷, comparisons, rounding to integers, and the bits of the exponent: the same bits in scalar code and in
vectors of any width, off by one or two in the last place. Numbers below the smallest normal one, 1.2e-38, count as 0,
as they do on processors that are set to flush them. All take and return float32 of any shape.

Source of the polynomials, but for erf's: Moshier, Cephes Math Library, expf.c, logf.c, tanhf.c and sinf.c.
"""

from collections.abc import Sequence
from math import e as euler
from math import factorial, inf, log2, nan, pi, prod, sqrt

import torch
from torch import Tensor

LARGEST, SMALLEST = 88.72283172607422, -87.33654022216797  # between them e^x is a normal number
LN2_HIGH, LN2_LOW = 0.693359375, -2.12194440e-4  # multiples of the first by whole numbers up to 2¹³ are exact
QUARTER_HIGH, QUARTER_LOW = 1.57079632673412561417, 6.07710050650619224932e-11  # π/2, the first in 33 bits
# The highest power comes first.
EXP = 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1
LOG = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
TANH = -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1
SIN = -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1
COS = 2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2
# Of (erf x)/x − 1 in x², and (ln erfc x)/x + 1 in x: least squares of erf's relative error, weighted until it is even.
ERF_NEAR = -5.9642392e-4, 4.9880072e-3, -2.6763134e-2, 1.1281721e-1, -3.7612486e-1, 1.2837915e-1
ERF_FAR = -1.1527229e-5, 3.2576837e-4, -3.6545240e-3, 2.3787607e-2, -1.0626657e-1, -6.3513333e-1, -1.2865292e-1
ERFI_END_OF_NEAR = 4.5
ERFI_NEAR = [2 / sqrt(pi) / (factorial(n) * (2 * n + 1)) for n in range(70, -1, -1)]
"""Taylor's series of (erfi x)/x in x²."""
ERFI_FAR = [prod(range(1, 2 * n, 2)) for n in range(16, -1, -1)]
"""Asymptotic series of erfi x · x √π / e^x² in 1/(2x²): (2n − 1)!!."""
TANH_NEAR, ERF_END_OF_NEAR = 0.625, 0.927734375
TINY = torch.finfo(torch.float32).tiny
EXPONENT = 23  # the lowest bit of a float32's exponent
ROOT_HALF = 0x3F3504F3  # the bits of √½


def exp(x: Tensor) -> Tensor:
    """e^x = 2ⁿ · e^r with n whole and |r| ≤ ½ ln 2."""
    fraction, n = _exp_less_one_of_rest(x)
    root, more = _power_of_two(n)
    value = (fraction + 1) * root * more * root
    return torch.where(x <= LARGEST, torch.where(x < SMALLEST, 0.0, value), x * inf)


def expm1(x: Tensor) -> Tensor:
    """e^x − 1 for x ≤ 0: 2ⁿ (e^r − 1) + (2ⁿ − 1)."""
    fraction, n = _exp_less_one_of_rest(x)
    root, more = _power_of_two(n)
    power = root * more * root
    return torch.where(x < SMALLEST, -1.0, fraction * power + (power - 1))


def log(x: Tensor) -> Tensor:
    """The natural logarithm, as n ln 2 + ln(1 + f), n whole, √½ ≤ 1 + f < √2; −∞ at 0, nan for negative numbers."""
    bits = torch.where(x >= TINY, x, 1.0).view(torch.int32)
    power = (bits - ROOT_HALF) >> EXPONENT
    f = (bits - (power << EXPONENT)).view(torch.float32) - 1
    n = power.to(torch.float32)
    square = f * f
    value = f + (polynomial(LOG, f) * f * square + n * LN2_LOW - 0.5 * square) + n * LN2_HIGH
    return torch.where(x < TINY, torch.where(x < 0, nan, -inf), torch.where(x < inf, value, x))


def tanh(x: Tensor) -> Tensor:
    """A polynomial near 0; beyond, 1 − 2 / (e^2|x| + 1) with the sign of x."""
    square, size = x * x, x.abs()
    near = polynomial(TANH, square) * square * x + x
    far = (1 - 2 / (exp(size + size) + 1)) * torch.sign(x)
    return torch.where(size < TANH_NEAR, near, far)


def erf(x: Tensor) -> Tensor:
    """2/√π ∫ e^−t² dt from 0 to x: a polynomial near 0; beyond, 1 − e^P(|x|) with the sign of x."""
    square, size = x * x, x.abs()
    near = polynomial(ERF_NEAR, square) * x + x
    bounded = size.clamp(max=4.0)  # from there on it is 1
    far = (1 - exp(polynomial(ERF_FAR, bounded) * bounded - bounded)) * torch.sign(x)
    return torch.where(size <= ERF_END_OF_NEAR, near, far)


def erfi(x: Tensor) -> Tensor:
    """2/√π ∫ e^t² dt from 0 to x, computed in float64: its Taylor series up to 4.5; beyond, e^x² / (x √π) times terms
    of an asymptotic series.

    ±∞ from |x| = 9.42 on, where e^x² is beyond float32. Sources: Abramowitz & Stegun 1964, 7.1.5 (at ix) and 7.1.23;
    beyond 4.5 the error of the latter is below 2⁻²⁴.
    """
    wide = x.double().clamp(-30.0, 30.0)
    square = wide * wide
    near = polynomial(ERFI_NEAR, square.clamp(max=ERFI_END_OF_NEAR**2)) * wide
    part = 1 / (2 * square.clamp(min=ERFI_END_OF_NEAR**2))
    rounded = square.to(torch.float32)
    power = exp(rounded).double() * (1 + (square - rounded.double()))  # e^x², with x² in float64
    far = power * polynomial(ERFI_FAR, part) / (wide * sqrt(pi))
    return torch.where(wide.abs() <= ERFI_END_OF_NEAR, near, far).to(torch.float32)


def sin_and_cos(x: Tensor) -> tuple[Tensor, Tensor]:
    """Sine and cosine of x minus a whole number of quarter turns, the difference taken in float64.

    Beyond 1e6 quarter turns digits are lost, but values keep their bounds.
    """
    wide = x.double()
    n = (wide * (2 / pi)).round()
    rest = (wide - n * QUARTER_HIGH - n * QUARTER_LOW).to(torch.float32).clamp(-1.0, 1.0)
    quarter = (n - (n * 0.25).floor() * 4).to(torch.float32)
    square = rest * rest
    sine = polynomial(SIN, square) * square * rest + rest
    cosine = polynomial(COS, square) * square * square - 0.5 * square + 1
    odd = (quarter == 1) | (quarter == 3)
    one, other = torch.where(odd, cosine, sine), torch.where(odd, sine, cosine)
    return torch.where(quarter >= 2, -one, one), torch.where((quarter == 1) | (quarter == 2), -other, other)


def polynomial(coefficients: Sequence[float], x: Tensor) -> Tensor:
    """Σ cᵢ xⁱ, the highest power's coefficient first."""
    highest, *others = coefficients
    total = torch.full_like(x, highest)
    for coefficient in others:
        total = total * x + coefficient
    return total


def _exp_less_one_of_rest(x: Tensor) -> tuple[Tensor, Tensor]:
    """e^r − 1 and n, with x = n ln 2 + r; x is clamped so that e^x is a normal number."""
    inside = x.clamp(SMALLEST, LARGEST)
    n = (inside * log2(euler)).round()
    r = inside - n * LN2_HIGH - n * LN2_LOW
    return polynomial(EXP, r) * (r * r) + r, n


def _power_of_two(n: Tensor) -> tuple[Tensor, Tensor]:
    """p and q with p · q · p = 2ⁿ, for whole n from −126 to 128; at 128, 2ⁿ itself would be infinite.

    Computed by shifts of integers: compiled code that reads floats as bits goes through memory, and waits for it in
    vectors of 512 bits.
    """
    whole = n.to(torch.int32)
    sixteenth, ones = whole >> 4, torch.ones_like(whole)
    root = (ones << (sixteenth + 8)).to(torch.float32) * 2.0**-8
    root = root * root
    root = root * root
    return root * root, (ones << (whole - sixteenth * 16)).to(torch.float32)
