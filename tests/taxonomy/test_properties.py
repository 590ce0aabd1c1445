"""The nine properties, dead bands, floors and kinks against what is known of activations in closed form."""

import math

import pytest
import torch

from plasticity_lab.activations.activation import Activation
from plasticity_lab.activations.celu import CELU
from plasticity_lab.activations.crelu import CReLU
from plasticity_lab.activations.deep_fourier import DeepFourier
from plasticity_lab.activations.elu import ELU
from plasticity_lab.activations.gelu import GELU
from plasticity_lab.activations.leaky_relu import LeakyReLU
from plasticity_lab.activations.prelu import BoundedPReLU, PReLU
from plasticity_lab.activations.rational import Rational, starts
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.activations.rrelu import RReLU
from plasticity_lab.activations.selu import LAMBDA, SELU, RandomizedSELU
from plasticity_lab.activations.sigmoid import Sigmoid
from plasticity_lab.activations.smooth_leaky import RandomizedSmoothLeaky, SmoothLeaky
from plasticity_lab.activations.swiglu import SwiGLU
from plasticity_lab.activations.swish import Swish
from plasticity_lab.activations.tanh import Tanh
from plasticity_lab.taxonomy.properties import DEFINITIONS, Profile, curve, facts, hard_zones


class Squared(Activation):
    """max(x, 0)²: C¹, with a hard dead zone."""

    def __call__(self, x, site):
        return torch.relu(x) ** 2


class Hinges(Activation):
    """A slope that is 0 between −3 and −1, and 1 elsewhere: kinks away from 0."""

    def __call__(self, x, site):
        return torch.relu(x + 1) - torch.relu(-x - 3)


class Constant(Activation):
    """Passes on nothing of x."""

    def __call__(self, x, site):
        return torch.zeros_like(x) * x.detach()


def has(activation):
    return {name for name, holds in facts(activation)["marks"].items() if holds}


@pytest.mark.parametrize(
    ("activation", "properties"),
    [
        (ReLU(), "HDZ Sat−"),
        (LeakyReLU(0.1), "NZG"),
        (LeakyReLU(0.0), "HDZ Sat−"),
        (LeakyReLU(1.0), "NZG C1"),
        (PReLU(), "NZG, L/R slope"),
        (PReLU("neuron", 0.0), "HDZ, Sat−, L/R slope"),
        (BoundedPReLU(), "NZG, L/R slope"),
        (RReLU(), "NZG, L/R slope"),
        (RReLU(0.3, 0.3), "NZG"),
        (Sigmoid(), "NZG Sat± Sat− C1 f''"),
        (Tanh(), "NZG Sat± Sat− C1 f''"),
        (ELU(1.0), "NZG Sat− C1 f''"),
        (ELU(3.9), "NZG Sat− f''"),
        (CELU(3.9), "NZG Sat− C1 f''"),
        (SELU(), "NZG Sat− SelfN f''"),
        (SELU(3.7), "NZG Sat− f''"),
        (RandomizedSELU(), "NZG, Sat−, SelfN, L/R slope, f''"),
        (Swish(), "NZG Sat− C1 NonM f''"),
        (Swish(0.01), "NZG Sat− C1 NonM f''"),
        (Swish(0.0), "NZG C1"),
        (Swish(50.0), "NZG Sat− C1 NonM f''"),
        (GELU(), "NZG Sat− C1 NonM f''"),
        (GELU(0.05, "gate"), "NZG Sat− C1 NonM f''"),
        (SwiGLU(), "NZG Sat− C1 NonM f''"),
        (CReLU(), "HDZ NZG"),
        (DeepFourier(), "NZG C1 NonM f''"),
        (SmoothLeaky(alpha=0.1), "NZG C1 f''"),
        (SmoothLeaky(alpha=0.0907), "NZG C1 NonM f''"),
        (SmoothLeaky(alpha=0.0908), "NZG C1 f''"),
        (SmoothLeaky(5.0, 0.1), "NZG C1 f''"),
        (RandomizedSmoothLeaky(), "NZG, C1, L/R slope, f''"),
        (Squared(), "HDZ Sat− C1 f''"),
        (Hinges(), "HDZ"),
        (Constant(), "HDZ Sat± Sat− C1"),
    ],
    ids=lambda of: of if isinstance(of, str) else f"{type(of).__name__} {vars(of)}",
)
def test_an_activation_has_these_properties_and_no_others(activation, properties):
    assert has(activation) == set(properties.split(", ") if ", " in properties else properties.split())


def test_there_are_the_papers_nine():
    assert list(DEFINITIONS) == [
        "HDZ", "NZG", "Sat±", "Sat−", "C1", "NonM", "SelfN", "L/R slope", "f''",
    ]  # fmt: skip
    assert all(DEFINITIONS.values())


LOGIT = math.log((1 + math.sqrt(1 - 4e-3)) / (1 - math.sqrt(1 - 4e-3)))
"""Where σ(x) σ(−x) = 0.001."""


@pytest.mark.parametrize(
    ("activation", "width"),
    [
        (ReLU(), 0.5),
        (Sigmoid(), (200 - 2 * LOGIT) / 200),
        (Tanh(), (200 - 2 * math.acosh(math.sqrt(1000))) / 200),
        (ELU(1.0), (100 - math.log(1000)) / 200),
        (ELU(3.9), (100 - math.log(3900)) / 200),
        (CELU(3.3), (100 - 3.3 * math.log(1000)) / 200),
        (SELU(), (100 - math.log(1000 * LAMBDA * 1.673)) / 200),
        (LeakyReLU(), 0.0),
        (CReLU(), 0.0),
        (DeepFourier(), 0.0),
        (SmoothLeaky(), 0.0),
    ],
    ids=lambda of: of if isinstance(of, float) else type(of).__name__,
)
def test_dead_bands_are_as_wide_as_the_formula_says(activation, width):
    assert facts(activation)["dead_band"] == pytest.approx(width, abs=1e-9)


@pytest.mark.parametrize(("activation", "width"), [(Swish(), 0.4551), (GELU(), 0.4810), (SwiGLU(), 0.4551)])
def test_dead_bands_without_a_formula(activation, width):
    assert facts(activation)["dead_band"] == pytest.approx(width, abs=5e-5)


def test_a_dead_band_lies_around_the_turn_of_swish_too():
    tail, turn = facts(Swish())["dead_intervals"]
    assert tail[0] == -100
    assert turn[0] < -1.2784645 < turn[1]
    assert turn[1] - turn[0] < 0.01


def test_slopes_that_fade_until_doubles_hold_them_no_longer_are_no_hard_zone():
    for activation in (Sigmoid(), Tanh(), GELU()):
        near = Profile(activation).near
        assert (near.slope == 0).any(), "else this test shows nothing"
        assert hard_zones(near.x, near.slope) == []


@pytest.mark.parametrize(
    ("activation", "least", "kind"),
    [
        (ReLU(), 0.0, "zero"),
        (Sigmoid(), 0.0, "zero"),
        (Tanh(), 0.0, "zero"),
        (LeakyReLU(0.1), 0.1, "non-zero"),
        (RReLU(), 0.229, "non-zero"),
        (CReLU(), 1.0, "non-zero"),
        (DeepFourier(), 1.0, "non-zero"),
        (SmoothLeaky(alpha=0.1), 0.0101446, "non-zero"),
        (SmoothLeaky(alpha=0.05), 0.0, "effective non-zero"),
        (ELU(), 0.0, "effective non-zero"),
        (Swish(), 0.0, "effective non-zero"),
    ],
    ids=lambda of: str(of) if isinstance(of, float | str) else type(of).__name__,
)
def test_floors(activation, least, kind):
    shape = facts(activation)
    assert shape["floor"] == pytest.approx(least, abs=1e-6)
    assert shape["floor_kind"] == kind


@pytest.mark.parametrize(
    ("activation", "jump", "which"),
    [
        (ReLU(), 1.0, "one-sided (kink)"),
        (LeakyReLU(0.3), 0.7, "one-sided (kink)"),
        (SELU(), LAMBDA * 0.673, "one-sided (kink)"),
        (ELU(1.001), 0.001, "one-sided (kink)"),
        (CReLU(), math.sqrt(2), "one-sided (kink)"),
        (ELU(1.0), 0.0, "one-sided (smooth)"),
        (Swish(), 0.0, "one-sided (smooth)"),
        (Tanh(), 0.0, "two-sided"),
    ],
    ids=lambda of: str(of) if isinstance(of, float | str) else type(of).__name__,
)
def test_kinks_at_0_and_sides(activation, jump, which):
    shape = facts(activation)
    assert shape["kink"] == pytest.approx(jump, abs=1e-9)
    assert shape["side"] == which


def test_kinks_away_from_0_are_found_where_they_are():
    profile = Profile(Hinges())
    assert [x for x, _ in profile.kinks] == pytest.approx([-3, -1], abs=1e-9)
    assert [jump for _, jump in profile.kinks] == pytest.approx([1, 1])
    assert facts(Hinges())["kink"] == 0
    ((low, high),) = hard_zones(profile.near.x, profile.near.slope)
    assert (low, high) == pytest.approx((-3, -1), abs=0.005)


def test_rational_has_a_kink_where_its_denominator_has_one():
    (above, below) = starts()[("A", 5, 4, "leaky_relu")]
    ((x, jump),) = Profile(Rational()).kinks
    assert x == pytest.approx(0, abs=1e-9)
    assert jump == pytest.approx(2 * abs(above[0] * below[0]))
    assert Profile(Rational("A", approximates="tanh")).kinks == [], "P(0) = 0: the jump of Q′ is multiplied by 0"


def test_the_factor_of_selu_is_klambauers():
    """0.782648, of their Section 'Proof of Theorem 1'; the bound is moved to its two sides."""
    import plasticity_lab.taxonomy.properties as properties

    alpha = 1.6732632423543772
    for limit, holds in ((0.78264, False), (0.78266, True)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(properties, "LARGEST_FACTOR", limit)
            assert properties.normalises_itself(Profile(SELU(alpha))) is holds


def test_a_curve_is_of_x_alone():
    x = torch.linspace(-3, 3, 7, dtype=torch.float64)
    drawn = [curve(RReLU(0.2, 0.4), x, end).slope[0].item() for end in (0.0, 1.0)]
    assert drawn == pytest.approx([0.2, 0.4])
    gate = curve(SwiGLU(), x)
    assert torch.equal(gate.value, curve(Swish(), x).value)
    features = curve(DeepFourier(), x)
    assert torch.allclose(features.slope, torch.stack([x.cos(), -x.sin()], dim=1))
    assert torch.allclose(features.bend, -features.value)
