"""Experts with noise: what they answer by their definition, whichever way it is computed, and alike in any pack."""

import numpy as np
import pytest
import torch

from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.experts import MANY_SLOTS, StackedNoisyExperts
from tests.helpers.packs import needs_kernels

SLOTS = (MANY_SLOTS - 1, MANY_SLOTS, 13)


def layer_of(slots: int, scope: str, shared: bool = True) -> StackedNoisyExperts:
    return StackedNoisyExperts("moe", 2, 3, 6, slots, scope, 0.5, shared)


def given(layer: StackedNoisyExperts, runs: int, examples: int = 4) -> tuple[dict, torch.Tensor, torch.Tensor]:
    """Parameters, of which no two are equal, inputs and noise."""
    starts = [layer.start(host_stream(seed, "weights"), "default", 1.0) for seed in range(runs)]
    for seed, start in enumerate(starts):
        for name, value in start.items():
            value += host_stream(seed, name).normal(0, 0.2, value.shape).astype(np.float32) * (value != 0)
    shape = (runs, examples, layer.experts, layer.slots, layer.inputs)
    parameters = {name: torch.from_numpy(np.stack([start[name] for start in starts])) for name in starts[0]}
    x, noise = np.zeros(shape, np.float32), np.zeros((runs, layer.noise(examples)), np.float32)
    for seed in range(runs):
        x[seed] = host_stream(seed, "x").normal(size=shape[1:])
        noise[seed] = host_stream(seed, "noise").uniform(size=noise.shape[1])
    return parameters, torch.from_numpy(x), torch.from_numpy(noise)


@pytest.mark.parametrize("scope", ["sample", "batch"])
@pytest.mark.parametrize("slots", SLOTS)
def test_all_slots_of_an_example_see_the_weights_that_it_draws(slots, scope):
    layer = layer_of(slots, scope)
    parameters, x, noise = given(layer, 2)
    factors = layer.one.factors(noise, 4).double().expand(2, 4, -1)  # f(p) and f(q) of each example
    h = layer(parameters, x, noise)
    assert h.shape == (2, 4, 2, slots, 6)
    weight, bias, sigma, of_bias = (
        parameters[f"moe.{part}"].double() for part in ("weight", "bias", "sigma", "sigma_bias")
    )
    for run, example, expert in np.ndindex(2, 4, 2):
        p, q = factors[run, example].split([3, 6])
        drawn = weight[run, expert, :, :6] + sigma[run, expert, :, :6] * torch.outer(p, q)
        offset = bias[run, expert, 0, :6] + of_bias[run, expert, 0, :6] * q
        expected = x[run, example, expert].double() @ drawn + offset
        torch.testing.assert_close(h[run, example, expert].double(), expected, rtol=1e-5, atol=1e-5)


def results(layer: StackedNoisyExperts, parameters: dict, x: torch.Tensor, noise: torch.Tensor) -> list[torch.Tensor]:
    def total(parameters: dict, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = layer(parameters, x, noise)
        return h.square().sum() / 2, h

    (by_name, by_x), h = torch.func.grad(total, argnums=(0, 1), has_aux=True)(parameters, x)
    return [h, *by_name.values(), by_x]


@pytest.mark.parametrize("scope", ["sample", "batch"])
@pytest.mark.parametrize("slots", SLOTS)
def test_a_run_and_its_gradients_are_the_same_in_every_pack(slots, scope):
    layer = layer_of(slots, scope)
    parameters, x, noise = given(layer, 8)

    def of(part: slice) -> list[torch.Tensor]:
        own = {name: value[part].clone() for name, value in parameters.items()}
        return results(layer, own, x[part].clone(), noise[part].clone())

    alone = of(slice(7, 8))
    for width in (2, 3, 5, 8):
        for one, packed in zip(alone, of(slice(8 - width, 8)), strict=True):
            assert torch.equal(one[0], packed[-1]), f"of {width}"


@needs_kernels
@pytest.mark.parametrize("slots", SLOTS)
def test_by_our_kernels_it_is_the_same_to_rounding(slots):
    from plasticity_lab.kernels.through import ThroughKernels, prepare

    prepare()
    layer = layer_of(slots, "sample")
    parameters, x, noise = given(layer, 3)
    theirs = results(layer, parameters, x, noise)

    def total(parameters: dict, x: torch.Tensor) -> torch.Tensor:
        return layer(ThroughKernels(parameters), x, noise).square().sum() / 2

    by_name, by_x = torch.func.grad(total, argnums=(0, 1))(parameters, x)
    for ours, expected in zip([*by_name.values(), by_x], theirs[1:], strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("slots", SLOTS)
def test_slots_that_are_given_the_same_answer_alike_only_where_they_share_noise(slots, shared):
    layer = layer_of(slots, "sample", shared)
    parameters, x, noise = given(layer, 1)
    x = x[..., :1, :].expand_as(x).contiguous()
    h = layer(parameters, x, noise)
    alike = (h - h[..., :1, :]).abs().amax(dim=-1)[..., 1:] < 1e-5
    assert alike.all() if shared else not alike.any()
