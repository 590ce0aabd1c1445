"""Penalties on the size of features and of outputs, by hand, and a pack of them beside each run alone."""

import pytest
import torch

from plasticity_lab.component import build
from plasticity_lab.interventions.feature_norm import FeatureNorm
from plasticity_lab.interventions.logit_norm import LogitNorm
from plasticity_lab.interventions.now import Now
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU, choice, differing, images, run, trained

IMAGES = images(8, 61, 20)
STREAM = {"images": 61, "tasks": 2, "epochs": 2, "network": {"width": 13}}
FIRST, LAST = torch.tensor([[1.0, 0.0], [2.0, 2.0], [9.0, 9.0]]), torch.tensor([[1.0, 3.0], [0.0, 2.0], [9.0, 9.0]])


@pytest.mark.parametrize(
    ("settings", "expected"),
    # Two examples and a row that fills up the batch. Squares of the last layer's features: (1, 9), (0, 4); of the
    # first layer's: (1, 0), (4, 4).
    [
        ({}, 3.5),
        ({"reduction": "sum"}, 7.0),
        ({"sites": "all"}, 3.5 + 2.25),
        ({"sites": "all", "reduction": "sum"}, 11.5),
    ],
)
def test_two_layers_of_two_features_by_hand(settings, expected):
    pack = [FeatureNorm(1.0, **settings), FeatureNorm(0.5, **settings), FeatureNorm(0.0, **settings)]
    value, slopes = of_hidden(pack)
    assert value.tolist() == pytest.approx([expected, expected / 2, 0])
    share = 0.5 if settings.get("reduction") != "sum" else 1.0
    torch.testing.assert_close(slopes["hidden2"][1], 0.5 * 2 * LAST * share * torch.tensor([[0.5], [0.5], [0.0]]))
    assert slopes["hidden1"].any() == ("sites" in settings)


def of_hidden(pack):
    """The penalty, and its derivative by the features of each layer."""
    model = classifier(MLP(width=2, depth=2), [build("activation", "relu", *choice("activation", "relu"))] * 3, (4,), 2)
    weights = torch.tensor([0.5, 0.5, 0.0])
    now = Now(model, model.start([0, 1, 2], CPU), on_run_axis(pack), {}, weights=weights)
    hidden = {"hidden1": FIRST.expand(3, 3, 2).clone(), "hidden2": LAST.expand(3, 3, 2).clone()}
    assert [unit.name for unit in model.units] == list(hidden)
    slopes = torch.func.grad(lambda values: pack[0].penalty(now._replace(hidden=values)).sum())(hidden)
    return pack[0].penalty(now._replace(hidden=hidden)), slopes


@pytest.mark.parametrize(("reduction", "expected"), [("mean", 3.5), ("sum", 7.0)])
def test_logits_by_hand_and_the_value_of_a_state_is_none(reduction, expected):
    pack = [LogitNorm(1.0, reduction), LogitNorm(0.5, reduction)]
    outputs = {"policy": LAST.expand(2, 3, 2), "value": torch.full((2, 3, 1), 100.0)}
    now = Now(None, {}, on_run_axis(pack), {}, outputs=outputs, weights=torch.tensor([0.5, 0.5, 0.0]))
    assert pack[0].penalty(now).tolist() == pytest.approx([expected, expected / 2])


@pytest.mark.parametrize("name", ["feature_norm", "logit_norm"])
def test_strengths_differ_in_a_pack_and_zero_is_the_plain_run(name):
    target, usual = choice("intervention", name)
    runs = [run(seed, intervention=(target, usual | {"strength": s}), **STREAM) for seed, s in ((1, 0.1), (2, 0.0))]
    packed = trained(runs, IMAGES).measured
    for k, one in enumerate(runs):
        assert not differing(trained([one], IMAGES).measured.of(0), packed.of(k))
    assert not differing(trained([run(2, **STREAM)], IMAGES).measured.of(0), packed.of(1))
    assert differing(trained([run(1, **STREAM)], IMAGES).measured.of(0), packed.of(0))
