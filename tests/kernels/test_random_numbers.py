"""Random numbers by our kernels: the bits of the operations that compiled code has without them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from plasticity_lab.agents.graphs import graph_of
from plasticity_lab.agents.sac.policy import normal_like
from plasticity_lab.assembly import cost_of, resources
from plasticity_lab.kernels import operators
from plasticity_lab.kernels.through import prepare
from plasticity_lab.randomness.device import run_keys, uniforms
from plasticity_lab.stacking.elementary import normals
from plasticity_lab.stacking.noisy import StackedNoisyLinear
from tests.helpers.packs import needs_compiler, needs_kernels
from tests.tenants.packs import packs_of

pytestmark = needs_kernels
COUNTS = [1, 2, 5, 15, 16, 17, 61, 64, 131, 5003]
LAYERS = [(5, 3, "sample"), (16, 1, "sample"), (9, 8, "batch")]
STEP = torch.tensor(2**40 + 12345)


@pytest.fixture(autouse=True)
def _kernels():
    prepare()


@pytest.mark.parametrize("runs", [1, 3])
def test_uniform_numbers_are_numpys(runs):
    keys = torch.cat([run_keys(range(runs - 1), "kernels"), torch.tensor([[0xFFFFFFFF, 0xFFFFFFFF]])])
    for step in (torch.tensor(0), STEP):
        for count in COUNTS:
            found = torch.ops.plasticity_lab.uniforms(keys, step, count)
            assert found.is_contiguous()
            assert found.equal(uniforms(keys, step, count)), count


def grid() -> Tensor:
    """Uniform numbers (1, N): all places near 0, near 1 and near each quarter turn, and others; in both of a pair."""
    near = torch.arange(-40, 41)
    places = torch.cat([near + 2**24 * turn // 8 for turn in range(9)] + [torch.arange(0, 2**24, 1709)])
    places = places[(places >= 0) & (places < 2**24)]
    order = torch.randperm(len(places), generator=torch.Generator().manual_seed(1))
    return (torch.cat([places, places[order], places[order], places]).double() * 2**-24).float().view(1, -1)


def drawn(uniform_by_count: dict[str, Tensor], noise: list[Tensor], keys: Tensor, step: Tensor) -> list[Tensor]:
    """All that takes normal numbers."""
    found = [normals(uniform) for uniform in uniform_by_count.values()]
    for (inputs, outputs, scope), own in zip(LAYERS, noise, strict=True):
        layer = StackedNoisyLinear("head", inputs, outputs, scope)
        found.append(layer.factors(own, rows=12))
    return [*found, normal_like(keys, step, torch.empty(3, 4, 7))]


def called(graph: Callable[..., list[Tensor]], given: Any) -> tuple[list[Tensor], set[str]]:
    """The results of a graph, and the operators of our kernels that it called."""
    with torch.profiler.profile(acc_events=True) as profile:
        found = graph(*given)
    own = "plasticity_lab::"
    return found, {event.key.removeprefix(own) for event in profile.key_averages() if event.key.startswith(own)}


@needs_compiler
def test_normal_numbers_and_factors_are_the_composed_ones_bit_for_bit(monkeypatch):
    keys = run_keys(range(3), "kernels")
    by_count = {str(count): uniforms(keys, STEP, count) for count in (2, 30, 66)} | {"": grid()}
    sizes = [StackedNoisyLinear("head", *layer).noise(7) for layer in LAYERS]
    noise = [uniforms(keys, STEP, size + 5)[:, 2 : 2 + size] for size in sizes]  # rows that are not next to each other
    noise[0][1, : sizes[0] // 2] = 0  # normal numbers 0 and −0
    given = by_count, noise, keys, STEP
    by_kernels, operators_called = called(graph_of(drawn, None, given), given)
    assert operators_called == {"uniforms", "normals", "noise_factors"}
    monkeypatch.setattr(operators, "_called_in_graphs", False)
    composed, operators_called = called(graph_of(drawn, None, given), given)
    assert not operators_called
    for ours, theirs in zip(by_kernels, composed, strict=True):
        assert ours.shape == theirs.shape
        assert ours.contiguous().view(torch.int32).equal(theirs.contiguous().view(torch.int32))


@pytest.mark.parametrize(
    ("words", "draws"),
    [
        ("agent=sac benchmark=mujoco", True),
        ("agent=dqn benchmark=catch", False),
        ("agent=dqn benchmark=catch agent.noisy=true", True),
        ("agent=ppo benchmark=classic_cycle", False),
        ("agent=ppo benchmark=classic_cycle activation=rrelu", True),
        ("agent=ppo benchmark=classic_cycle optimizer=upgd", True),
    ],
)
def test_a_plan_counts_the_part_for_runs_that_draw_in_their_graphs(words, draws):
    run, *_ = packs_of(*words.split(), "seed=0")
    assert (operators.RANDOM_NUMBERS in cost_of(run, resources(Path())(run)).kernel_parts) == draws
