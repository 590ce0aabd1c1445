"""Gradients of single examples, held to a backward pass for each of them: every network, head and kind of layer."""

import pytest
import torch

from plasticity_lab.diagnostics.gradient_noise import GradientNoise
from plasticity_lab.diagnostics.gradient_rank import GradientRank
from plasticity_lab.diagnostics.sensitivities import grams, mean_gradients
from plasticity_lab.networks.network import Noise
from plasticity_lab.networks.per_example import squared_gradients
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.normed import linear_of
from tests.helpers.packs import choices
from tests.helpers.single_examples import HEADS, NETWORKS, Case, begun, drawn, each_alone, every_case, told, valid

ONE_OF_EACH = [
    Case("small_nature", "tokenised", norm="layer"),
    Case("impala", "mean of tokens", activation="crelu"),
    Case("small_nature", "normalised router", noise=Noise(0.3)),
    Case("nature", "tokenised", tokens="per_feat"),
    Case("pixel_actor_critic", "tokenised"),
    Case("small_impala", "expert_choice", noise=Noise(0.3)),
    Case("cnn", "flatten", norm="layer", noise=Noise(0.3)),
]
SHARE = 0.99
ROUNDING = 1e-20
"""The gradient by a bias of keys is 0: the softmax takes it out again."""


def held(case: Case) -> None:
    """All that reads squares or inner products of single gradients."""
    view = begun(case)
    alone = each_alone(view)
    # In float32 the rounding of the forward pass grows through gated layers to a percent.
    close = 1e-8 if case.precision == torch.float64 else 0.03

    def same(found: torch.Tensor, expected: torch.Tensor, what: str) -> None:
        assert found.shape == expected.shape
        largest = expected.abs().max().clamp(min=ROUNDING)
        assert (found - expected).abs().max() <= close * largest, (case, what)

    given = view.parameters, view.settings["activation"], None, view.probe["x"], view.probe["answers"]
    squares = squared_gradients(view.model, *given, told)
    assert squares.keys() <= alone.keys()
    for name, gradients in alone.items():
        expected = gradients.square().sum(dim=1)
        found = squares.get(name, torch.zeros_like(expected))
        same(found, expected, name)
    assert mean_gradients(view).keys() == alone.keys()
    known = [
        layer.name
        for each in view.model.design.layers
        if isinstance(layer := linear_of(each), StackedLinear | StackedConv2d) and f"{layer.name}.weight" in squares
    ]
    assert list(grams(view)) == known
    for name, gram in grams(view).items():
        for part in ("weight", "bias"):
            rows = alone[f"{name}.{part}"].double().flatten(2)
            same(getattr(gram, part), rows @ rows.mT, f"{name}.{part}")
    if known:
        of = {name: torch.cat([alone[f"{name}.{part}"].double().flatten(2) for part in ("weight", "bias")], dim=2)
              for name in known}  # fmt: skip
        whole = torch.cat(list(of.values()), dim=2)
        mean = whole.mean(dim=1, keepdim=True)
        noise = (whole - mean).square().sum(dim=(1, 2)) / (whole.shape[1] - 1)
        expected = mean.square().sum(dim=(1, 2)) / noise
        found = GradientNoise().look(view)["gradient_snr"]
        torch.testing.assert_close(found, expected, rtol=max(close, 1e-5), atol=0.0, equal_nan=True, msg=str(case))
        for layer, rows in (("all", whole), *((name, alone[f"{name}.weight"].double().flatten(2)) for name in known)):
            ranks = GradientRank(layer=layer).look(view)
            assert all((ranks[name] <= whole.shape[1]).all() for name in ranks), "no more than there are examples"
            values = torch.linalg.svdvals(rows)
            for power, name in ((2, "gradient_rank"), (1, "gradient_root_rank")):
                sums = (values**power).cumsum(dim=1)
                least, most = (
                    (sums < bound * sums[:, -1:]).sum(dim=1) + (sums[:, -1] > 0)
                    for bound in (SHARE - 1e-4, SHARE + 1e-4)
                )
                assert ((least <= ranks[name]) & (ranks[name] <= most)).all(), (case, layer, name)
    if any(getattr(layer, "positions", 1) > 1 for layer in view.model.design.layers):
        assert not view.model.network.rows_are_examples, "the update goes by it"


@pytest.mark.parametrize("case", ONE_OF_EACH, ids=str)
def test_one_of_each_kind(case):
    held(case)


def test_some_that_are_drawn():
    for case in drawn(8):
        held(case)


@pytest.mark.slow
def test_every_network_with_every_head():
    walked = [case for case in every_case() if valid(case)]
    assert {case.network for case in walked} == set(NETWORKS) == set(choices("network"))
    assert {HEADS[case.head][0] for case in walked} == set(choices("head"))
    assert {case.head for case in walked} == set(HEADS)
    for case in walked:
        held(case)
