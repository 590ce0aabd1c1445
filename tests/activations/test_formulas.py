"""Values and derivatives against closed forms, in float64, and in float32 where float32 is where it goes wrong."""

from math import erf, pi, sqrt

import numpy as np
import pytest
import torch

from plasticity_lab.activations.celu import CELU
from plasticity_lab.activations.elu import ELU, elu
from plasticity_lab.activations.gelu import GELU
from plasticity_lab.activations.leaky_relu import LeakyReLU
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.activations.selu import SELU
from plasticity_lab.activations.sigmoid import Sigmoid
from plasticity_lab.activations.smooth_leaky import SmoothLeaky
from plasticity_lab.activations.swish import Swish
from plasticity_lab.activations.tanh import Tanh

X = np.r_[-200, -50, np.linspace(-20, 20, 401), 50, 200].astype(np.float64)
LAMBDA = 1.0507009873554805


def s(x):
    return np.where(x >= 0, 1, np.exp(-np.abs(x))) / (1 + np.exp(-np.abs(x)))


def phi(x):
    return np.array([0.5 * (1 + erf(v / sqrt(2))) for v in x])


def density(x):
    return np.exp(-x * x / 2) / sqrt(2 * pi)


def below(x):
    return np.minimum(x, 0)


CASES = {
    "relu": (ReLU(), lambda x: np.maximum(x, 0), lambda x: (x > 0) * 1.0),
    "leaky_relu": (LeakyReLU(0.3), lambda x: np.where(x > 0, x, 0.3 * x), lambda x: np.where(x > 0, 1, 0.3)),
    "sigmoid": (Sigmoid(), s, lambda x: s(x) * s(-x)),
    "tanh": (Tanh(), np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    "swish": (Swish(0.7), lambda x: x * s(0.7 * x), lambda x: s(0.7 * x) + 0.7 * x * s(0.7 * x) * s(-0.7 * x)),
    "swish, β = 0": (Swish(0.0), lambda x: x / 2, lambda x: 0 * x + 0.5),
    "gelu": (
        GELU(0.5),
        lambda x: 0.5 * x * phi(0.5 * x),
        lambda x: 0.5 * (phi(0.5 * x) + 0.5 * x * density(0.5 * x)),
    ),
    "gelu, gate": (
        GELU(0.5, form="gate"),
        lambda x: x * phi(0.5 * x),
        lambda x: phi(0.5 * x) + 0.5 * x * density(0.5 * x),
    ),
    "elu": (
        ELU(3.6),
        lambda x: np.where(x > 0, x, 3.6 * np.expm1(below(x))),
        lambda x: np.where(x > 0, 1, 3.6 * np.exp(below(x))),
    ),
    "celu": (
        CELU(2.4),
        lambda x: np.where(x > 0, x, 2.4 * np.expm1(below(x) / 2.4)),
        lambda x: np.exp(below(x) / 2.4),
    ),
    "selu": (
        SELU(3.7),
        lambda x: LAMBDA * np.where(x > 0, x, 3.7 * np.expm1(below(x))),
        lambda x: LAMBDA * np.where(x > 0, 1, 3.7 * np.exp(below(x))),
    ),
    "smooth_leaky": (
        SmoothLeaky(0.3, 0.1, 0.65),
        lambda x: 0.65 * x + 0.35 * x * s(3 * x),
        lambda x: 0.65 + 0.35 * s(3 * x) * (1 + 3 * x * s(-3 * x)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_value_and_derivative_are_the_closed_forms(name, applied):
    activation, value, derivative = CASES[name]
    ours, slope = applied(activation, X)
    np.testing.assert_allclose(ours, value(X), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(slope, derivative(X), rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("name", CASES)
def test_float32_is_right_in_both_tails(name, applied):
    activation, value, derivative = CASES[name]
    ours, slope = applied(activation, X, dtype=torch.float32)
    np.testing.assert_allclose(ours, value(X), rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(slope, derivative(X), rtol=2e-6, atol=2e-6)


def test_the_exponential_branch_keeps_its_slope_where_its_value_is_flat(applied):
    x = np.array([-16.0, -17.0, -30.0, -80.0])
    for activation, expected in (
        (ELU(2.0), 2 * np.exp(x)),
        (SELU(2.0), LAMBDA * 2 * np.exp(x)),
        (CELU(2.0), np.exp(x / 2)),
    ):
        np.testing.assert_allclose(applied(activation, x, dtype=torch.float32)[1], expected, rtol=1e-5)


def test_the_exponential_branch_is_exact_near_zero(applied):
    x = -np.logspace(-8, -1, 30)
    np.testing.assert_allclose(applied(ELU(1.0), x, dtype=torch.float32)[0], np.expm1(x), rtol=3e-7)


def test_sigmoid_is_relatively_exact_in_the_tails(applied):
    x = np.array([-80.0, -40.0, -20.0, 0.0, 20.0, 40.0])
    value, slope = applied(Sigmoid(), x, dtype=torch.float32)
    np.testing.assert_allclose(value, s(x), rtol=1e-5)
    np.testing.assert_allclose(slope[1:], (s(x) * s(-x))[1:], rtol=1e-5)


def test_derivatives_at_zero(applied):
    def at_zero(activation):
        return applied(activation, [0.0])[1].item()

    assert at_zero(Sigmoid()) == 0.25
    assert at_zero(SmoothLeaky(5, 3, 0.1)) == pytest.approx((1 + 0.1) / 2)
    assert at_zero(ELU(3.0)) == 3.0
    assert at_zero(CELU(3.0)) == 1.0


def test_second_derivatives_are_there():
    """The exponential branch takes its value and its derivative from two functions; curvature follows the second."""
    x = torch.linspace(-3, 3, 13, dtype=torch.float64)
    slope = torch.func.grad(lambda x: elu(x, 2.0).sum())
    curvature = torch.func.grad(lambda x: slope(x).sum())(x)
    torch.testing.assert_close(curvature, torch.where(x > 0, 0, 2 * torch.exp(x)))


def test_the_slope_of_smooth_leaky_dips_where_it_should(applied):
    """g(u) = f′ at a = 0, k = 1: least at −2.3994, and f′ > 0 everywhere iff 0.0907762782 ≤ a < 11.0161."""
    u = np.linspace(-2.42, -2.38, 40001)
    slope = applied(SmoothLeaky(1, 1, 0.0), u)[1].numpy()
    assert slope.min() == pytest.approx(-0.0998393201, abs=1e-10)
    assert u[slope.argmin()] == pytest.approx(-2.3993572805, abs=1e-4)
    wide = np.linspace(-40, 40, 160001)
    for a, monotone in ((0.0907, False), (0.0909, True), (0.1, True), (11.0, True), (11.1, False)):
        assert (applied(SmoothLeaky(1, 1, a), wide)[1].min() > 0) == monotone
    assert applied(SmoothLeaky(5, 3, 0.1), wide)[1].min() == pytest.approx(0.0101446, abs=1e-6)
