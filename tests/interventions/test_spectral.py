"""What is penalised is the largest singular value of each layer, held against an SVD in float64."""

import numpy as np
import pytest
import torch

from plasticity_lab.component import build
from plasticity_lab.interventions.now import Now
from plasticity_lab.interventions.spectral import Spectral
from plasticity_lab.networks.cnn import CNN
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU, choice, differing, images, needs_compiler, run, trained

CLASS, _ = choice("intervention", "spectral")
IMAGES = images(8, 61, 20)
STREAM = {"images": 61, "tasks": 2, "epochs": 2}


def seen(network, strengths=(0.5, 0.0, 0.25), power=2, iterations=200):
    """What it sees, when the power method has come to its end."""
    pack = [Spectral(strength, power) for strength in strengths]
    activation = build("activation", "prelu", *choice("activation", "prelu"))
    model = classifier(network, [activation] * 3, (1, 16, 16), 10)
    parameters = {name: 3 * value for name, value in model.start([0, 1, 2], CPU).items()}
    now = Now(model, parameters, on_run_axis(pack), {}, seeds=[0, 1, 2])
    now = now._replace(state=pack[0].start(now))
    for _ in range(iterations):
        now = now._replace(state=pack[0].after_step(now))
    return pack[0], now


def by_hand(now, k, power):
    """Value and gradients for one run, in float64 by an SVD."""
    total, gradients = 0.0, {name: np.zeros(value[k].shape) for name, value in now.parameters.items()}
    for layer in now.model.design.layers:
        weight, bias = (now.parameters[f"{layer.name}.{part}"][k].double().numpy() for part in ("weight", "bias"))
        u, s, v = np.linalg.svd(weight)
        squares = (bias**2).sum()
        total += (s[0] ** power - 1) ** 2 + squares**power
        gradients[f"{layer.name}.weight"] = (
            2 * (s[0] ** power - 1) * power * s[0] ** (power - 1) * np.outer(u[:, 0], v[0])
        )
        gradients[f"{layer.name}.bias"] = 2 * power * squares ** (power - 1) * bias
        if f"{layer.name}.scale" in now.parameters:
            scale, shift = (now.parameters[f"{layer.name}.{part}"][k].double().numpy() for part in ("scale", "shift"))
            largest = np.abs(scale).max()
            total += (largest**power - 1) ** 2 + (shift**2).sum() ** power
            gradients[f"{layer.name}.scale"] = (
                2 * (largest**power - 1) * power * largest ** (power - 1) * (scale == largest)
            )
            gradients[f"{layer.name}.shift"] = 2 * power * (shift**2).sum() ** (power - 1) * shift
    return total, gradients


@pytest.mark.parametrize(
    ("network", "power"), [(MLP(width=11), 2), (MLP(width=1), 1), (MLP(width=12, norm="layer"), 2), (CNN(width=9), 2)]
)
def test_value_and_gradient_are_those_of_an_svd(network, power):
    intervention, now = seen(network, power=power)
    penalty = intervention.penalty(now)
    gradients = torch.func.grad(lambda values: intervention.penalty(now._replace(parameters=values)).sum())(
        now.parameters
    )
    for k, strength in enumerate((0.5, 0.0, 0.25)):
        total, expected = by_hand(now, k, power)
        assert float(penalty[k]) == pytest.approx(strength * total, rel=1e-4)
        for name, gradient in gradients.items():
            size = np.abs(expected[name]).max()
            np.testing.assert_allclose(gradient[k], strength * expected[name], rtol=1e-3, atol=1e-3 * size + 1e-9)


def all_but_scales_zero(strengths):
    """Two layers of which each has one column of length 1, which the direction points at: all σ are 1."""
    intervention, now = seen(MLP(width=4, depth=1, norm="layer"), strengths=strengths, iterations=0)
    for name, value in now.parameters.items():
        value.copy_(torch.ones(1)) if name.endswith(".scale") else value.zero_()
    for layer in ("hidden1", "output"):
        now.parameters[f"{layer}.weight"][:, 0, 0] = 1.0
        now.state[layer].zero_()
        now.state[layer][:, 0] = 1.0
    return intervention, now


def gradients_of(intervention, now):
    return torch.func.grad(lambda values: intervention.penalty(now._replace(parameters=values)).sum())(now.parameters)


def test_of_a_scale_the_largest_size_counts_whatever_its_sign():
    """Scales 0.5, −3, 2 and 1: σ = 3, so (3² − 1)² = 64, with the gradient −2 · 8 · 2 · 3 = −96 on the −3 alone."""
    intervention, now = all_but_scales_zero((1.0, 0.25, 1.0))
    now.parameters["hidden1.scale"].copy_(torch.tensor([0.5, -3.0, 2.0, 1.0]))
    torch.testing.assert_close(intervention.penalty(now), torch.tensor([64.0, 16.0, 64.0]))
    assert gradients_of(intervention, now)["hidden1.scale"][1].tolist() == [[0, -24, 0, 0]]


def test_a_shift_is_a_bias_and_a_layer_that_stretches_by_little_is_pulled_up():
    """‖shift‖² = 1 + 4 = 5: 5² = 25, with the gradient 2 · 2 · 5 · shift. σ = 10⁻³: 1 − 2 · 10⁻⁶, and 4 σ (σ² − 1)."""
    intervention, now = all_but_scales_zero((1.0, 1.0, 0.5))
    now.parameters["hidden1.shift"].copy_(torch.tensor([1.0, -2.0, 0.0, 0.0]))
    now.parameters["output.weight"][:, 0, 0] = 1e-3
    torch.testing.assert_close(intervention.penalty(now), torch.tensor([26.0, 26.0, 13.0]))
    gradients = gradients_of(intervention, now)
    torch.testing.assert_close(gradients["hidden1.shift"][0], torch.tensor([[20.0, -40.0, 0.0, 0.0]]))
    assert gradients["output.weight"][:, 0, 0].tolist() == pytest.approx([-4e-3, -4e-3, -2e-3], rel=1e-4)


def test_before_the_first_update_the_singular_value_is_nearly_found():
    _, now = seen(MLP(width=40), iterations=0)
    for layer in now.model.design.layers:
        weight, direction = now.parameters[f"{layer.name}.weight"], now.state[layer.name]
        assert torch.allclose(direction.norm(dim=1), torch.ones(3))
        assert not direction[:, layer.outputs :].any()
        stretch = torch.einsum("kio,ko->ki", weight, direction).norm(dim=1)
        assert (stretch / torch.linalg.matrix_norm(weight, ord=2)).min() > 0.97


def test_trained_with_it_layers_come_nearer_to_1_and_the_iterations_follow():
    strengths = [0.0, 3.0]
    runs = [run(1, intervention=(CLASS, {"strength": one}), optimizer={"lr": 0.01}, **STREAM) for one in strengths]
    packed = trained(runs, IMAGES)
    for name, direction in packed.agent.network.kept.items():
        weight = packed.agent.network.parameters[f"{name}.weight"]
        sigma = torch.linalg.matrix_norm(weight, ord=2)
        assert abs(float(sigma[1]) - 1) < 0.5 * abs(float(sigma[0]) - 1)
        assert float((weight[1] @ direction[1]).norm() / sigma[1]) > 0.9


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("network", [{"width": 91}, {"width": 1}, {"width": 8, "norm": "layer"}])
def test_compiled_a_packed_run_is_the_same_alone(network):
    how = {"network": network, "intervention": (CLASS, {"strength": 0.1}), **STREAM}
    runs = [run(seed, **how) for seed in (3, 1, 0, 2, 5)]
    for width in (2, 3, 5):
        packed = trained(runs[:width], IMAGES, compiled=True)
        assert not differing(packed.of(0), trained(runs[:1], IMAGES, compiled=True).of(0)), width
