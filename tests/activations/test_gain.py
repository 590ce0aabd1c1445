from math import sqrt

import numpy as np
import pytest

from plasticity_lab.activations.activation import Activation
from plasticity_lab.activations.aid import AID
from plasticity_lab.activations.crelu import CReLU
from plasticity_lab.activations.deep_fourier import DeepFourier
from plasticity_lab.activations.hadamard import Hadamard
from plasticity_lab.activations.leaky_relu import LeakyReLU
from plasticity_lab.activations.prelu import BoundedPReLU, PReLU
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.activations.rrelu import RReLU
from plasticity_lab.activations.selu import SELU
from plasticity_lab.activations.sigmoid import Sigmoid
from plasticity_lab.activations.smooth_leaky import RandomizedSmoothLeaky, SmoothLeaky
from plasticity_lab.activations.swiglu import SwiGLU
from plasticity_lab.activations.swish import Swish
from plasticity_lab.activations.tanh import Tanh
from plasticity_lab.randomness.host import host_stream


@pytest.mark.parametrize(
    "activation",
    [ReLU(), LeakyReLU(0.7), PReLU(alpha_init=0.25), BoundedPReLU(), RReLU(0.1, 0.3), CReLU(), DeepFourier()],
)
def test_the_integral_agrees_with_the_closed_forms(activation):
    assert Activation.gain(activation) == pytest.approx(activation.gain(), rel=1e-9)


def test_published_gains():
    assert ReLU().gain() == CReLU().gain() == DeepFourier().gain() == AID(0.7).gain() == sqrt(2)
    assert Tanh().gain() == 5 / 3
    assert Sigmoid().gain() == 1
    assert SELU(1.6732632423543772).gain() == pytest.approx(1, abs=1e-7)


def test_random_slopes_count_with_their_mean():
    assert RandomizedSmoothLeaky(3, 2, 0.2, 0.6).gain() == pytest.approx(SmoothLeaky(3, 2, 0.4).gain(), rel=1e-12)


def test_a_very_steep_turn_is_integrated_too():
    assert SmoothLeaky(5, 0.1, 0.5).gain() == pytest.approx(LeakyReLU(0.5).gain(), rel=1e-3)
    assert Swish(0.0).gain() == pytest.approx(2)


def test_swiglu_keeps_the_second_moment_of_two_independent_halves():
    a, b = host_stream(0, "test").normal(size=(2, 1_000_000))
    second = np.mean((a * b / (1 + np.exp(-b))) ** 2)
    assert SwiGLU().gain() == pytest.approx(1 / sqrt(second), rel=0.01)


def test_hadamard_keeps_the_second_moment_of_two_independent_halves():
    a, b = host_stream(0, "test").normal(size=(2, 1_000_000))
    assert Hadamard().gain() == pytest.approx(np.mean((np.tanh(a) * np.tanh(b)) ** 2) ** -0.5, rel=0.01)
