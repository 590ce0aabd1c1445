from fractions import Fraction

import pytest
import torch

from plasticity_lab.activations.celu import CELU
from plasticity_lab.activations.crelu import CReLU
from plasticity_lab.activations.elu import ELU
from plasticity_lab.activations.gelu import GELU
from plasticity_lab.activations.leaky_relu import LeakyReLU
from plasticity_lab.activations.prelu import PReLU
from plasticity_lab.activations.rational import Rational
from plasticity_lab.activations.rrelu import RReLU
from plasticity_lab.activations.selu import SELU, RandomizedSELU
from plasticity_lab.activations.smooth_leaky import RandomizedSmoothLeaky, SmoothLeaky
from plasticity_lab.activations.swiglu import SwiGLU
from plasticity_lab.activations.swish import Swish
from plasticity_lab.component import typed
from plasticity_lab.errors import ConfigError

GRID = (0.1, 0.3, 0.5, 0.8, 1, 2, 3, 4, 5)


def canonical(cls, **settings):
    return cls.canonical(typed(cls, "activation", "test", settings))


def test_smooth_leaky_counts_c_and_p_through_their_exact_quotient():
    assert canonical(SmoothLeaky, c=0.8, p=0.3, alpha=0.1) == {"c_over_p": "8/3", "alpha": 0.1}
    assert canonical(SmoothLeaky, c=0.1, p=0.3) == canonical(SmoothLeaky, c=1, p=3)
    both = {"lower": 0.3, "upper": 0.6}
    assert canonical(RandomizedSmoothLeaky, c=2, p=0.8, **both) == {"c_over_p": "5/2"} | both
    functions = {canonical(SmoothLeaky, c=c, p=p)["c_over_p"] for c in GRID for p in GRID}
    assert len(functions) == 49
    assert len({canonical(SmoothLeaky, c=c, p=p)["c_over_p"] for c in GRID[4:] for p in GRID[4:]}) == 19


@pytest.mark.parametrize("kind", [SmoothLeaky, RandomizedSmoothLeaky])
def test_equal_quotients_give_equal_numbers_to_the_last_bit(kind):
    steepness = {}
    for c in GRID:
        for p in GRID:
            quotient = Fraction(canonical(kind, c=c, p=p)["c_over_p"])
            value = torch.tensor(kind(c, p).on_run_axis()["steepness"]).item()
            assert steepness.setdefault(quotient, value) == value
            assert value == pytest.approx(c / p, rel=1e-6)


def test_knobs_that_the_paper_has_not_stay_out_of_the_identity():
    assert canonical(CReLU) == {}
    assert canonical(CReLU, width="matched") == {"width": "matched"}
    assert canonical(SwiGLU) == {}
    assert canonical(GELU, beta=0.5) == {"beta": 0.5}
    assert canonical(GELU, beta=0.5, form="gate") == {"beta": 0.5, "form": "gate"}
    assert canonical(RReLU, lower=0.1, upper=0.3) == {"lower": 0.1, "upper": 0.3}
    assert canonical(RReLU, lower=0.1, upper=0.3, eval_slope=0) == {"lower": 0.1, "upper": 0.3, "eval_slope": 0}


def test_settings_that_are_one_function_are_one():
    assert canonical(GELU, beta=1, form="gate") == canonical(GELU, beta=1)
    assert canonical(RReLU, lower=0.5, upper=0.5, eval_slope=0.5) == canonical(RReLU, lower=0.5, upper=0.5)


def test_real_settings_travel_on_the_run_axis_and_starts_do_not():
    assert LeakyReLU(0.3).on_run_axis() == {"negative_slope": 0.3}
    assert RReLU(0.1, 0.3, eval_slope=0.0).on_run_axis() == {"lower": 0.1, "upper": 0.3}
    assert PReLU(alpha_init=0.9).on_run_axis() == {}
    assert SmoothLeaky(3, 2, 0.65).on_run_axis() == {"steepness": 1.5, "alpha": 0.65}


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: LeakyReLU(-0.1), "activation.negative_slope is -0.1; it must be at least 0"),
        (lambda: PReLU(scope="channel"), "activation.scope is 'channel'; it must be one of global, layer, neuron"),
        (lambda: PReLU(alpha_init=-1.0), "activation.alpha_init is -1.0; it must be at least 0"),
        (lambda: RReLU(0.5, 0.3), "activation.lower is 0.5 and activation.upper is 0.3; lower must not be greater"),
        (lambda: RandomizedSELU(0.5, 0.3), "lower must not be greater"),
        (lambda: RandomizedSmoothLeaky(1, 1, 0.5, 0.3), "lower must not be greater"),
        (lambda: RReLU(-0.5, 0.3), "activation.lower is -0.5; it must be at least 0"),
        (lambda: RReLU(eval_slope="median"), "activation.eval_slope is 'median'; it must be one of mean, a number"),
        (lambda: Swish(-1.0), "activation.beta is -1.0; it must be at least 0"),
        (lambda: GELU(0.0), "activation.beta is 0.0; it must be above 0"),
        (lambda: GELU(1.0, "sigmoid"), "activation.form is 'sigmoid'; it must be one of scale_input, gate"),
        (lambda: ELU(-1.0), "activation.alpha is -1.0; it must be at least 0"),
        (lambda: CELU(0.0), "activation.alpha is 0.0; it must be above 0"),
        (lambda: SELU(-1.0), "activation.alpha is -1.0; it must be at least 0"),
        (lambda: SmoothLeaky(0.0, 1.0, 0.1), "activation.c is 0.0; it must be above 0"),
        (lambda: SmoothLeaky(1.0, -3.0, 0.1), "activation.p is -3.0; it must be above 0"),
        (lambda: SmoothLeaky(1.0, 1.0, -0.1), "activation.alpha is -0.1; it must be at least 0"),
        (lambda: CReLU("full"), "activation.width is 'full'; it must be one of half, matched, double"),
        (lambda: SwiGLU("matched"), "activation.width is 'matched'; it must be one of double, half"),
        (lambda: Rational("E"), "activation.version is 'E'; it must be one of A, B, C, D"),
        (lambda: Rational(approximates="gelu"), "activation.approximates is 'gelu'; it must be one of relu,"),
    ],
)
def test_a_setting_out_of_range_is_a_sentence(make, sentence):
    with pytest.raises(ConfigError) as error:
        make()
    assert sentence in str(error.value)
