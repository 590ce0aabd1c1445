import numpy as np
import pytest
import torch

from plasticity_lab.activations.aid import AID
from plasticity_lab.activations.leaky_relu import LeakyReLU
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.activations.rrelu import RReLU
from plasticity_lab.activations.selu import LAMBDA, SELU, RandomizedSELU
from plasticity_lab.activations.smooth_leaky import RandomizedSmoothLeaky, SmoothLeaky
from plasticity_lab.randomness.host import host_stream

DRAWS = torch.from_numpy(host_stream(0, "test").random(100_000))


def slope_of_rrelu(y):
    return -y


def slope_of_rselu(y):
    return y / (LAMBDA * np.expm1(-1.0))


def slope_of_rand_smooth_leaky(y):
    s = 1 / (1 + np.exp(2.0))
    return (-y - s) / (1 - s)


RANDOMISED = {
    "rrelu": (lambda low, high: RReLU(low, high), slope_of_rrelu, LeakyReLU),
    "rselu": (lambda low, high: RandomizedSELU(low, high), slope_of_rselu, SELU),
    "rand_smooth_leaky": (
        lambda low, high: RandomizedSmoothLeaky(2, 1, low, high),
        slope_of_rand_smooth_leaky,
        lambda slope: SmoothLeaky(2, 1, slope),
    ),
}


@pytest.mark.parametrize("name", RANDOMISED)
def test_slopes_are_uniform_between_the_bounds(name, applied):
    make, slope_of, _ = RANDOMISED[name]
    activation = make(0.673, 2.673)
    assert activation.randomised
    slopes = slope_of(applied(activation, -torch.ones(len(DRAWS)), DRAWS)[0].numpy())
    assert slopes.min() >= 0.673 - 1e-12
    assert slopes.max() <= 2.673 + 1e-12
    error = np.sqrt(4 / 12 / len(slopes))
    assert slopes.mean() == pytest.approx(1.673, abs=4 * error)
    assert slopes.var() == pytest.approx(4 / 12, rel=0.02)
    assert np.corrcoef(slopes[1:], slopes[:-1])[0, 1] == pytest.approx(0, abs=0.015)


@pytest.mark.parametrize("name", RANDOMISED)
def test_evaluation_uses_the_mean_slope(name, applied):
    make, _, fixed = RANDOMISED[name]
    x = torch.linspace(-5, 5, 101)
    ours, slopes = applied(make(0.25, 0.75), x)
    theirs, fixed_slopes = applied(fixed(0.5), x)
    assert torch.equal(ours, theirs)
    assert torch.equal(slopes, fixed_slopes)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("slope", [0.3, 1.6732])
@pytest.mark.parametrize("name", RANDOMISED)
def test_equal_bounds_are_the_fixed_form_bit_for_bit(name, slope, training, applied):
    make, _, fixed = RANDOMISED[name]
    x = torch.cat([torch.linspace(-9, 9, 1001), torch.zeros(1), torch.tensor([-200.0, 200.0])])
    draws = DRAWS[: len(x)].float() if training else None
    ours = applied(make(slope, slope), x, draws, dtype=torch.float32)
    theirs = applied(fixed(slope), x, dtype=torch.float32)
    assert torch.equal(ours[0], theirs[0])
    assert torch.equal(ours[1], theirs[1])


def test_the_positive_side_of_rrelu_is_the_identity(applied):
    x = torch.linspace(0.1, 5, 50)
    value, slope = applied(RReLU(0.1, 0.9), x, DRAWS[:50])
    assert torch.equal(value, x.double())
    assert torch.equal(slope, torch.ones(50).double())


def test_rrelu_can_be_evaluated_at_another_slope(applied):
    activation = RReLU(0.1, 0.3, eval_slope=0.0)
    assert applied(activation, [-2.0])[0].item() == 0
    assert applied(activation, [-2.0], torch.tensor([0.5]))[0].item() == pytest.approx(-0.4)


def test_aid_keeps_or_drops_each_value_and_passes_on_means_in_evaluation(applied):
    """p = 0.75: a draw below it keeps a positive value and drops a negative one; a draw above, the reverse."""
    x, draws = [2.0, -2.0, 2.0, -2.0], torch.tensor([0.74, 0.74, 0.75, 0.75])
    value, slope = applied(AID(0.75), x, draws)
    assert value.tolist() == [2.0, 0.0, 0.0, -2.0]
    assert slope.tolist() == [1.0, 0.0, 0.0, 1.0]
    value, slope = applied(AID(0.75), x[:2])
    assert value.tolist() == [1.5, -0.5]
    assert slope.tolist() == [0.75, 0.25]


def test_aid_keeps_positive_values_with_probability_p_and_negative_ones_with_the_rest(applied):
    ones = torch.ones(len(DRAWS))
    assert applied(AID(0.9), ones, DRAWS)[0].mean() == pytest.approx(0.9, abs=0.004)
    assert applied(AID(0.9), -ones, DRAWS)[0].mean() == pytest.approx(-0.1, abs=0.004)


@pytest.mark.parametrize("training", [True, False])
def test_aid_without_dropout_is_relu_bit_for_bit(training, applied):
    x = torch.cat([torch.linspace(-9, 9, 1001), torch.zeros(1)])
    draws = DRAWS[: len(x)].float() if training else None
    for ours, relu in zip(
        applied(AID(1.0), x, draws, torch.float32), applied(ReLU(), x, None, torch.float32), strict=True
    ):
        assert torch.equal(ours, relu)
