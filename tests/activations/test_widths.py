from fractions import Fraction

import pytest
import torch

from plasticity_lab.activations.activation import Site
from plasticity_lab.activations.crelu import CReLU
from plasticity_lab.activations.deep_fourier import DeepFourier
from plasticity_lab.activations.hadamard import Hadamard
from plasticity_lab.activations.swiglu import SwiGLU
from plasticity_lab.errors import ConfigError

NOTHING = Site({}, {})


@pytest.mark.parametrize("kind", [CReLU, DeepFourier])
@pytest.mark.parametrize(
    ("width", "produced", "matches"), [("half", 50, False), ("matched", 100, True), ("double", 100, False)]
)
def test_a_concatenation_doubles_what_is_passed_on(kind, width, produced, matches):
    activation = kind(width)
    assert activation.produced(100) == produced
    assert activation.expansion == 2
    assert activation.matches_parameters == matches


@pytest.mark.parametrize(("width", "produced"), [("double", 200), ("half", 100)])
def test_swiglu_halves_what_is_passed_on(width, produced):
    assert SwiGLU(width).produced(100) == produced
    assert SwiGLU(width).expansion == Fraction(1, 2)


@pytest.mark.parametrize("activation", [CReLU(), DeepFourier(), SwiGLU("half")])
def test_an_odd_width_cannot_be_halved(activation):
    with pytest.raises(ConfigError, match="91; choose an even network width"):
        activation.produced(91)


@pytest.mark.parametrize("behind", [(), (5, 5)])
def test_what_is_joined_is_the_feature_axis(behind):
    x = torch.linspace(-2, 2, 2 * 3 * 4).reshape(2, 3, 4, *[1] * len(behind)).expand(2, 3, 4, *behind)
    left, right = CReLU()(x, NOTHING).split(4, dim=2)
    assert torch.equal(left - right, x)
    assert (left * right == 0).all()
    sine, cosine = DeepFourier()(x, NOTHING).split(4, dim=2)
    assert torch.equal(sine, x.sin())
    assert torch.equal(cosine, x.cos())
    value, gate = x.split(2, dim=2)
    torch.testing.assert_close(SwiGLU()(x, NOTHING), value * torch.nn.functional.silu(gate))
    torch.testing.assert_close(Hadamard()(x, NOTHING), value.tanh() * gate.tanh())
