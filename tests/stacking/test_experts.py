"""Experts side by side: each a linear map of its own, the same bits in any pack."""

import numpy as np
import pytest
import torch

from plasticity_lab.agents.graphs import graph_of
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.experts import StackedExperts
from plasticity_lab.stacking.linear import StackedLinear
from tests.helpers.packs import needs_compiler

SHAPES = [(4, 6, 8, 1), (3, 5, 7, 2), (1, 3, 3, 1), (2, 1, 1, 3), (5, 4, 1, 1), (3, 6, 8, 1)]
"""Experts, inputs, outputs, slots."""


def started(layer: StackedExperts, runs: int) -> dict[str, torch.Tensor]:
    alone = [layer.start(host_stream(seed, "weights", layer.name), "default", 1.0) for seed in range(runs)]
    return {name: torch.from_numpy(np.stack([start[name] for start in alone])) for name in alone[0]}


def inputs(layer: StackedExperts, runs: int, batch: int = 4) -> torch.Tensor:
    shape = (batch, layer.experts, *((layer.slots,) if layer.slots > 1 else ()), layer.inputs)
    return torch.from_numpy(np.stack([host_stream(k, "x").normal(size=shape) for k in range(runs)]).astype(np.float32))


@pytest.mark.parametrize("shape", SHAPES)
def test_each_expert_is_a_linear_layer_that_starts_and_answers_as_one(shape):
    layer = StackedExperts("moe", *shape)
    parameters, x = started(layer, 2), inputs(layer, 2)
    h, one = layer(parameters, x), StackedLinear("moe", layer.inputs, layer.outputs)
    assert h.shape == (*x.shape[:-1], layer.outputs)
    assert layer.size == layer.experts * one.size
    for run in range(2):
        draw = host_stream(run, "weights", "moe")
        for expert in range(layer.experts):
            for name, values in one.start(draw, "default", 1.0).items():
                assert np.array_equal(parameters[name][run, expert].numpy(), values)
            weight, bias = (parameters[f"moe.{part}"][run, expert, :, : layer.outputs] for part in ("weight", "bias"))
            torch.testing.assert_close(h[run, :, expert], x[run, :, expert] @ weight + bias[0], rtol=1e-5, atol=1e-5)


def results(layer: StackedExperts, parameters: dict, x: torch.Tensor) -> list[torch.Tensor]:
    def total(parameters: dict, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = layer(parameters, x)
        return h.movedim(-1, 2).contiguous().square().sum() / 2, h  # as an activation is given it

    (by_name, by_x), h = torch.func.grad(total, argnums=(0, 1), has_aux=True)(parameters, x)
    return [h, *by_name.values(), by_x]


def held(layer: StackedExperts, batch: int, compiled: bool = False) -> None:
    parameters, x = started(layer, 12), inputs(layer, 12, batch)

    def of(part: slice) -> list[torch.Tensor]:
        given = x[part].movedim(-1, 1).contiguous().movedim(1, -1)  # as gates leave it
        own = {name: value[part].clone() for name, value in parameters.items()}, given
        return graph_of(lambda *own: results(layer, *own), None, own)(*own) if compiled else results(layer, *own)

    alone = of(slice(11, 12))
    for width in (2, 3, 5, 6, 8, 12):
        for one, packed in zip(alone, of(slice(12 - width, 12)), strict=True):
            assert torch.equal(one[0], packed[-1]), f"of {width}"


@pytest.mark.parametrize("batch", [4, 16, 20])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_run_is_the_same_in_every_pack(shape, batch):
    held(StackedExperts("moe", *shape), batch)


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("shape", SHAPES[:2])
def test_compiled_too(shape):
    held(StackedExperts("moe", *shape), 4, compiled=True)


@pytest.mark.parametrize("shape", SHAPES)
def test_squares_of_gradients_are_those_of_one_example_after_the_other(shape):
    layer = StackedExperts("moe", *shape)
    parameters, x = started(layer, 2), inputs(layer, 2)
    delta = torch.randn(*x.shape[:-1], layer.outputs)
    totals = {name: torch.zeros_like(value) for name, value in parameters.items()}
    for example in range(4):
        at = slice(example, example + 1)
        own = torch.func.grad(lambda own, at=at: (layer(own, x[:, at]) * delta[:, at]).sum())(parameters)
        totals = {name: totals[name] + gradient.square() for name, gradient in own.items()}
    for name, value in layer.squares({}, x, delta).items():
        torch.testing.assert_close(value, totals[name], rtol=1e-4, atol=1e-5)
