"""Noisy linear layers, and the normal numbers that they are made noisy with."""

import numpy as np
import pytest
import torch
from scipy import stats

from plasticity_lab.agents.graphs import graph_of
from plasticity_lab.randomness.device import run_keys, uniforms
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.elementary import normals
from plasticity_lab.stacking.noisy import StackedNoisyLinear
from tests.helpers.packs import needs_compiler

SHAPES = [(12, 8), (5, 7), (1, 3), (6, 1)]
WIDTHS = (2, 3, 5, 6, 8, 12)


def started(layer: StackedNoisyLinear, runs: int) -> dict[str, torch.Tensor]:
    alone = [layer.start(host_stream(seed, "weights", layer.name), "xavier", 2.0) for seed in range(runs)]
    return {name: torch.from_numpy(np.stack([start[name] for start in alone])) for name in alone[0]}


def given(layer: StackedNoisyLinear, runs: int, batch: int, step: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Examples and noise, by run."""
    x = [host_stream(k, "x").normal(size=(batch, layer.inputs)) for k in range(runs)]
    noise = uniforms(run_keys(range(runs), "noise"), torch.tensor(step), layer.noise(batch))
    return torch.from_numpy(np.stack(x).astype(np.float32)), noise


def test_normals_are_normal_and_independent():
    drawn = normals(uniforms(run_keys([0, 1], "noise"), torch.tensor(3), 40_000)).double().numpy()
    for own in drawn:
        assert stats.kstest(own, "norm").pvalue > 0.01
        assert abs(np.corrcoef(own[:20_000], own[20_000:])[0, 1]) < 0.02
    assert abs(np.corrcoef(drawn)[0, 1]) < 0.02
    assert np.isfinite(normals(torch.tensor([[0.0, 1 - 2.0**-24, 0.0, 0.5]])).numpy()).all()


@pytest.mark.parametrize("scope", ["sample", "batch"])
def test_it_is_a_linear_layer_whose_weights_have_factorised_noise(scope):
    """Against weights laid out for each example by themselves."""
    layer = StackedNoisyLinear("head", 5, 3, scope)
    parameters = {name: torch.randn_like(value) for name, value in started(layer, 2).items()}
    x, noise = given(layer, 2, 4)
    h = layer(parameters, x, noise)
    rows = 4 if scope == "sample" else 1
    drawn = normals(noise)[:, : rows * 8].view(2, rows, 8)
    weight, bias, sigma, sigma_bias = (value[..., :3] for value in parameters.values())
    for run in range(2):
        for example in range(4):
            z = drawn[run, example if scope == "sample" else 0]
            f = torch.sign(z) * z.abs().sqrt()
            own = weight[run] + sigma[run] * torch.outer(f[:5], f[5:])
            expected = x[run, example] @ own + bias[run, 0] + sigma_bias[run, 0] * f[5:]
            torch.testing.assert_close(h[run, example], expected, rtol=1e-4, atol=1e-5)


def test_without_noise_it_is_the_linear_layer_and_deviations_learn_nothing():
    layer = StackedNoisyLinear("head", 5, 3)
    parameters, (x, _) = started(layer, 2), given(layer, 2, 4)
    assert torch.equal(layer(parameters, x), layer.linear(parameters, x))
    assert not any(value.any() for name, value in layer.squares({}, x, torch.ones(2, 4, 3)).items() if "sigma" in name)


def test_it_starts_as_the_papers_have_it_whatever_init_says():
    start = started(StackedNoisyLinear("head", 25, 40), 3)
    for part in ("weight", "bias"):
        assert float(start[f"head.{part}"].abs().max()) == pytest.approx(1 / 5, rel=0.1)
    for part in ("sigma", "sigma_bias"):
        assert torch.equal(start[f"head.{part}"], torch.full_like(start[f"head.{part}"], np.float32(0.1 / 5)))


def test_columns_that_only_pad_have_no_noise_and_no_gradient():
    layer = StackedNoisyLinear("head", 5, 3)
    parameters, (x, noise) = started(layer, 2), given(layer, 2, 4)
    gradients = torch.func.grad(lambda own: layer(own, x, noise).square().sum())(parameters)
    for name, value in parameters.items():
        assert value.shape[2] == 4
        assert not value[..., 3].any()
        assert not gradients[name][..., 3].any()
        assert gradients[name][..., :3].all()


def results(layer: StackedNoisyLinear, parameters: dict, x: torch.Tensor, keys: torch.Tensor) -> list[torch.Tensor]:
    """What comes out, and the gradients; the noise is drawn within."""

    def total(parameters: dict, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = layer(parameters, x, uniforms(keys, torch.tensor(5, device=x.device), layer.noise(x.shape[1])))
        return h.square().sum() / 2, h

    (by_name, by_x), h = torch.func.grad(total, argnums=(0, 1), has_aux=True)(parameters, x)
    return [h, *by_name.values(), by_x]


def held(layer: StackedNoisyLinear, batch: int, widths: tuple[int, ...], compiled: bool = False) -> None:
    """A run's numbers are the same alone and at both ends of packs."""
    parameters, (x, _), keys = started(layer, 12), given(layer, 12, batch), run_keys(range(12), "noise")

    def of(part: slice) -> list[torch.Tensor]:
        own = {name: value[part].clone() for name, value in parameters.items()}, x[part].clone(), keys[part].clone()
        if compiled:
            return graph_of(lambda *own: results(layer, *own), None, own)(*own)
        return results(layer, *own)

    alone = of(slice(11, 12))
    for width in widths:
        for one, packed in zip(alone, of(slice(12 - width, 12)), strict=True):
            assert torch.equal(one[0], packed[-1]), f"of {width}"


@pytest.mark.parametrize("scope", ["sample", "batch"])
@pytest.mark.parametrize("batch", [4, 16])
@pytest.mark.parametrize(("inputs", "outputs"), SHAPES)
def test_a_run_is_the_same_in_every_pack(inputs, outputs, batch, scope):
    held(StackedNoisyLinear("head", inputs, outputs, scope), batch, WIDTHS)


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("scope", ["sample", "batch"])
@pytest.mark.parametrize(("inputs", "outputs"), SHAPES[:2])
def test_compiled_too(inputs, outputs, scope):
    held(StackedNoisyLinear("head", inputs, outputs, scope), 8, WIDTHS, compiled=True)
