from math import inf, nan

import pytest
import torch

from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.optimizer import clipped, norms

SHAPES = {"hidden.weight": (4, 7), "hidden.bias": (1, 7), "value.weight": (7, 1)}


def gradients(runs: int, size: float = 1.0) -> dict[str, torch.Tensor]:
    draw = host_stream(0, "gradients")
    return {name: torch.from_numpy(draw.normal(size=(runs, *shape)) * size).float() for name, shape in SHAPES.items()}


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e6])
def test_each_run_is_clipped_as_pytorch_clips_a_network(size):
    given, limits = gradients(3, size), [0.5, 1e9, 2.0]
    found = clipped(given, torch.tensor(limits, dtype=torch.float64))
    for k, limit in enumerate(limits):
        parameters = [torch.nn.Parameter(torch.zeros(shape)) for shape in SHAPES.values()]
        for parameter, gradient in zip(parameters, given.values(), strict=True):
            parameter.grad = gradient[k].clone()
        norm = torch.nn.utils.clip_grad_norm_(parameters, limit)
        torch.testing.assert_close(norms(given)[k], norm)
        for parameter, gradient in zip(parameters, found.values(), strict=True):
            torch.testing.assert_close(gradient[k], parameter.grad)


def test_a_norm_is_not_divided_by_as_it_is():
    """3 and 4 millionths have a norm of 5; a millionth more is 6, so a limit of 3 halves them, and one of 6 or more is
    none. In a run of ones beside it that millionth is not seen.
    """
    given = {"w": torch.tensor([[3e-6, 4e-6], [3.0, 4.0]])}
    torch.testing.assert_close(
        clipped(given, torch.tensor([3e-6, 2.5]))["w"], torch.tensor([[1.5e-6, 2e-6], [1.5, 2.0]]), rtol=1e-5, atol=0
    )
    assert torch.equal(clipped(given, torch.tensor([6.1e-6, 5.1]))["w"], given["w"])


def test_what_is_below_its_limit_is_not_touched():
    given = gradients(2)
    for limits in ([inf, inf], [100.0, 100.0]):
        assert all(torch.equal(given[name], own) for name, own in clipped(given, torch.tensor(limits)).items())


def test_a_run_is_clipped_alike_alone_and_in_a_pack():
    given = gradients(5)
    for name, packed in clipped(given, torch.full((5,), 0.5)).items():
        alone = clipped({key: value[3:4].clone() for key, value in given.items()}, torch.tensor([0.5]))
        assert torch.equal(packed[3:4], alone[name])


@pytest.mark.parametrize("value", [inf, nan, 1e19, 1e30])
def test_a_run_that_diverges_is_not_hidden_and_its_mates_are_clipped(value):
    """Five numbers of 1e19 and their squares are finite, but not the squares' sum; the square of 1e30 is not."""
    given = gradients(2)
    given["value.weight"][0, :5, 0] = value
    found = clipped(given, torch.tensor([0.5, 0.5]))
    assert all(gradient[0].isnan().all() and gradient[1].isfinite().all() for gradient in found.values())
