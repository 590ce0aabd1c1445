import itertools

import numpy as np
import pytest
import torch

from plasticity_lab.activations.activation import Site
from plasticity_lab.activations.fit_rational import TARGETS, fitted
from plasticity_lab.activations.rational import APPROXIMATED, DEGREES, VERSIONS, Rational, starts
from plasticity_lab.errors import ConfigError
from plasticity_lab.randomness.host import host_stream

X = np.linspace(-3, 3, 601)
LARGEST_ERROR = {
    (3, 2): {"relu": 0.125, "leaky_relu": 0.125, "swish": 0.01, "tanh": 0.004, "sigmoid": 1e-4},
    (5, 4): {"relu": 0.034, "leaky_relu": 0.034, "swish": 2e-6, "tanh": 5e-5, "sigmoid": 1e-7},
    (7, 6): {"relu": 0.012, "leaky_relu": 0.012, "swish": 2e-6, "tanh": 2e-6, "sigmoid": 4e-5},
}
CELLS = list(itertools.product(VERSIONS, DEGREES, APPROXIMATED))


def rational(version, degrees, function):
    return Rational(version, *degrees, function)


@pytest.mark.parametrize(("version", "degrees", "function"), CELLS)
def test_every_start_is_the_function_it_approximates(version, degrees, function, applied):
    value = applied(rational(version, degrees, function), X)[0]
    assert np.abs(value.numpy() - TARGETS[function](X)).max() < LARGEST_ERROR[degrees][function]


@pytest.mark.parametrize(
    ("version", "function", "above", "below"),
    [
        (
            "A", "leaky_relu",
            [0.0297928, 0.6183735, 2.3233091, 3.0519362, 1.4854203, 0.2510245],
            [-1.1419548, 4.39316, 0.8714712, 0.3471966],
        ),
        ("A", "tanh", [0, 1.0003008, 0, 0.0963213, 0, 0.0004256], [-0.0013027, 0.428349, 0, 0.0107966]),
        ("B", "relu", [0.0338971, 0.4999985, 1.6701364, 1.9901022, 0.941309, 0.1509134], [0, 3.9802479, 0, 0.3018338]),
        ("B", "swish", [0, 0.5, 0.250017, 0.0532752, 0.0058046, 0.0002753], [0, 0.1065308, 0, 0.0005503]),
        ("B", "sigmoid", [0.5, 0.25, 0.0554447, 0.0068884, 0.0004849, 0.0000156], [0, 0.1108855, 0, 0.0009698]),
        (
            "C", "relu",
            [0.7865035, 11.6015931, 38.75352, 46.1788416, 21.842702, 3.5019244],
            [23.1031409, 0.00043, 92.356988, 0.0003087, 7.0038174],
        ),
    ],
)  # fmt: skip
def test_published_coefficients(version, function, above, below):
    numerator, denominator = starts()[version, 5, 4, function]
    np.testing.assert_allclose(numerator, above, atol=5e-5)
    np.testing.assert_allclose(denominator, below, atol=5e-5)


@pytest.mark.parametrize(
    ("version", "function", "right", "left"),
    [
        ("A", "tanh", 4.0, -4.0),
        ("B", "sigmoid", 2.2, -1.2),
        ("B", "relu", 53.1, -46.9),
        ("A", "leaky_relu", 74.7, -66.4),
    ],
)
def test_far_out_a_rational_is_a_line_whatever_it_began_as(version, function, right, left, applied):
    value = applied(rational(version, (5, 4), function), [100.0, -100.0])[0]
    np.testing.assert_allclose(value, [right, left], atol=0.06)


def test_refitting_gives_the_published_function():
    above, below = fitted("B", 5, 4, "relu")
    numerator, denominator = starts()["B", 5, 4, "relu"]
    np.testing.assert_allclose(above, numerator, rtol=5e-3, atol=1e-4)
    np.testing.assert_allclose(below, denominator, rtol=5e-3, atol=1e-4)


def reference(version, x, above, below):
    """The definition, power by power."""
    p = sum(a * x**i for i, a in enumerate(above))
    if version == "A":
        return p / (1 + sum(abs(b * x**j) for j, b in enumerate(below, 1)))
    if version == "C":
        return p / (0.1 + abs(sum(b * x**j for j, b in enumerate(below))))
    return p / (1 + abs(sum(b * x**j for j, b in enumerate(below, 1))))


@pytest.mark.parametrize("degrees", DEGREES)
@pytest.mark.parametrize("version", VERSIONS)
def test_values_and_gradients_are_those_of_the_definition(version, degrees):
    n, m = degrees
    draws = host_stream(1, "test", version, n)
    x = torch.from_numpy(draws.uniform(-4, 4, (3, 5, 2)))
    learned = {
        "numerator": torch.from_numpy(draws.normal(size=(3, n + 1))),
        "denominator": torch.from_numpy(draws.normal(size=(3, m + (version == "C")))),
    }

    def ours(x, learned):
        return rational(version, degrees, "relu")(x, Site({}, learned)).square().sum()

    def theirs(x, learned):
        above, below = ([c[:, None, None] for c in learned[name].unbind(1)] for name in ("numerator", "denominator"))
        return reference(version, x, above, below).square().sum()

    torch.testing.assert_close(ours(x, learned), theirs(x, learned))
    by_x, by_learned = torch.func.grad(ours, argnums=(0, 1))(x, learned)
    expected_x, expected_learned = torch.func.grad(theirs, argnums=(0, 1))(x, learned)
    torch.testing.assert_close(by_x, expected_x)
    torch.testing.assert_close(by_learned, expected_learned)


@pytest.mark.parametrize(("version", "degrees", "function"), CELLS)
def test_no_coefficient_begins_where_it_cannot_be_learned(version, degrees, function, applied):
    """|b x| has no derivative at b = 0."""
    activation = rational(version, degrees, function)
    x = torch.linspace(-3, 3, 60, dtype=torch.float64).reshape(1, -1, 1)
    learned = {k: torch.tensor([v.start], dtype=torch.float64) for k, v in activation.learnable(1).items()}
    target = torch.sin(2 * x) + 0.3 * x + 0.1

    def loss(learned):
        return (activation(x, Site({}, learned)) - target).square().sum()

    for gradient in torch.func.grad(loss)(learned).values():
        assert (gradient != 0).all()


def test_version_d_draws_one_factor_a_coefficient_a_call():
    activation = rational("D", (5, 4), "sigmoid")
    assert activation.randomised
    assert not rational("B", (5, 4), "sigmoid").randomised
    runs = 20_000
    x = torch.zeros(runs, 2, 3, dtype=torch.float64)
    learned = {k: torch.tensor([v.start], dtype=x.dtype).repeat(runs, 1) for k, v in activation.learnable(3).items()}
    uniform = torch.from_numpy(host_stream(2, "test").random((runs, 2, 3)))
    value = activation(x, Site({}, learned, uniform))
    assert (value == value[:, :1, :1]).all()
    factor = value[:, 0, 0] / learned["numerator"][0, 0]
    assert 0.9 <= factor.min() < 0.9001
    assert 1.0999 < factor.max() <= 1.1
    assert factor.mean().item() == pytest.approx(1, abs=4 * 0.2 / np.sqrt(12 * runs))
    assert factor.var().item() == pytest.approx(0.04 / 12, rel=0.03)
    terms = learned["numerator"][0] * 2.0 ** torch.arange(6)
    noise = activation(x + 2, Site({}, learned, uniform))[:, 0, 0] / activation(x + 2, Site({}, learned))[:, 0, 0] - 1
    independent = (terms.square().sum() / terms.sum() ** 2).item() * 0.04 / 12
    assert noise.var().item() == pytest.approx(independent, rel=0.05)
    assert torch.equal(activation(x, Site({}, learned)), rational("B", (5, 4), "sigmoid")(x, Site({}, learned)))


def test_where_a_run_has_fewer_values_than_version_d_has_coefficients_they_share_numbers_in_turn():
    activation = rational("D", (5, 4), "sigmoid")
    x = torch.full((2, 4, 1), 2.0)
    learned = {k: torch.tensor([v.start] * 2) for k, v in activation.learnable(1).items()}
    few = torch.rand(2, 4, 1)
    enough = torch.cat([few, few[:, :2]], dim=1)
    longer = activation(torch.full((2, 6, 1), 2.0), Site({}, learned, enough))
    assert torch.equal(activation(x, Site({}, learned, few)), longer[:, :4])


def test_other_degrees_are_refused_with_the_right_ones():
    with pytest.raises(ConfigError, match="3 and 2, 5 and 4, or 7 and 6"):
        Rational("A", 4, 4, "relu")
