"""What every file of conf/activation must do: one suite, no list of names."""

from math import prod
from pathlib import Path

import pytest
import torch

from plasticity_lab.activations.activation import Site
from plasticity_lab.component import build
from plasticity_lab.randomness.host import host_stream
from tests.helpers import packs

FOLDER = Path(__file__).parents[2] / "conf" / "activation"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
SHAPES = [(16, 100), (4, 100), (13, 91), (5, 6, 7, 7)]
"""(B, features, ...): a full batch, a last partial batch, a trimmed width, and channels with pixels."""


def choice(name):
    target, settings = packs.choice("activation", name)
    return build("activation", name, target, settings)


def pack(activation, name, shape, runs, training):
    """x (K, B, D, ...), a weight for each output, and the site, for a list of run numbers: run k's are k's alone."""
    batch, features, *pixels = shape
    units = features if activation.expansion >= 1 else 2 * features
    passed = (batch, int(units * activation.expansion), *pixels)

    def drawn(purpose, runs, sizes, sample):
        rows = [sample(host_stream(run, purpose, name, *sizes), sizes) for run in runs]
        return torch.stack([torch.from_numpy(row).float() for row in rows])

    def normal(stream, sizes):
        return 2 * stream.standard_normal(sizes)

    x = drawn("x", runs, (batch, units, *pixels), normal)
    x[:, 0, 0] = 0.0
    weight = drawn("weight", runs, passed, normal)
    values = activation.on_run_axis()
    shape_K = {key: torch.tensor([value * (1 + run / 100) for run in runs]) for key, value in values.items()}
    learned = {
        key: torch.tensor([[start + run / 1000 for start in value.start] for run in runs])
        for key, value in activation.learnable(units).items()
    }
    uniform = None
    if activation.randomised and training:
        taken = drawn("uniform", runs, (3 + prod(x.shape[1:]),), lambda stream, sizes: stream.random(sizes))
        uniform = taken[:, 3:].view(x.shape)  # as a network cuts it: a view whose runs are not next to each other
    return x, weight, Site(shape_K, learned, uniform)


def outcome(activation, x, weight, site):
    """Values, and the gradients of their weighted sum by x and by what is learned."""

    def loss(x, learned):
        y = activation(x, Site(site.shape, learned, site.uniform))
        return (y * weight).sum(), y

    gradients, y = torch.func.grad(loss, argnums=(0, 1), has_aux=True)(x, site.learned)
    return {"value": y, "x": gradients[0], **gradients[1]}


def test_all_nineteen_are_here():
    published = """relu leaky_relu prelu rrelu sigmoid tanh swish gelu elu celu selu crelu rational swiglu deep_fourier
        smooth_leaky rand_smooth_leaky bo_prelu rselu"""
    assert set(published.split()) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_line_one_is_the_command_that_runs_the_file(name):
    first = (FOLDER / f"{name}.yaml").read_text().splitlines()[0]
    assert first.startswith(f"# python -m plasticity_lab.main activation={name}")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", NAMES)
def test_the_feature_axis_grows_by_the_declared_expansion(name, shape):
    activation = choice(name)
    x, _, site = pack(activation, name, shape, [0, 1], training=True)
    batch, features, *pixels = x.shape[1:]
    assert activation(x, site).shape == (2, batch, features * activation.expansion, *pixels)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_produced_can_be_passed_on_whole(name):
    activation = choice(name)
    assert (activation.produced(100) * activation.expansion).denominator == 1


@pytest.mark.walk(40)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", NAMES)
def test_a_packed_run_equals_the_run_alone_bit_for_bit(name, shape, training):
    activation = choice(name)
    for run in (0, 5, 31):
        alone = outcome(activation, *pack(activation, name, shape, [run], training))
        mates = [other for other in range(40) if other != run]
        for width, place, first in ((4, 0, 0), (4, 3, 7), (32, 0, 3), (32, 17, 0), (32, 31, 8)):
            runs = mates[first : first + width - 1]
            runs.insert(place, run)
            packed = outcome(activation, *pack(activation, name, shape, runs, training))
            for key, value in alone.items():
                assert torch.equal(packed[key][place], value[0]), f"{key} at place {place} of {width}"


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_values_and_gradients_are_finite_in_the_tails(name, training):
    activation = choice(name)
    x, weight, site = pack(activation, name, (16, 100), [0, 1], training)
    tails = torch.tensor([-1000.0, -200.0, -89.0, -88.0, -50.0, -17.0, 0.0, 17.0, 50.0, 88.0, 89.0, 200.0, 1000.0])
    x = tails.repeat(x.numel() // len(tails) + 1)[: x.numel()].reshape(x.shape)
    for key, value in outcome(activation, x, weight, site).items():
        assert value.isfinite().all(), key


@pytest.mark.parametrize("name", NAMES)
def test_what_is_learned_can_be_learned(name):
    activation = choice(name)
    result = outcome(activation, *pack(activation, name, (16, 100), [0, 1], training=True))
    for key in activation.learnable(100):
        assert (result[key] != 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_gain_is_a_positive_number(name):
    assert 0.1 < choice(name).gain() < 10


@pytest.mark.walk(1)
@pytest.mark.parametrize("name", NAMES)
def test_the_whole_of_it_is_one_graph(name):
    activation = choice(name)
    x, weight, site = pack(activation, name, (4, 100), [0, 1], training=True)
    torch._dynamo.reset()

    def gradient(x, weight, shape, learned, uniform):
        return outcome(activation, x, weight, Site(shape, learned, uniform))

    captured = torch.compile(gradient, fullgraph=True, backend="eager")
    ours = captured(x, weight, site.shape, site.learned, site.uniform)
    for key, value in gradient(x, weight, site.shape, site.learned, site.uniform).items():
        # Where it is compiled its functions are composed (see `stacking.elementary`): other last bits than torch's own.
        torch.testing.assert_close(ours[key], value, rtol=1e-5, atol=2e-6, equal_nan=True)
