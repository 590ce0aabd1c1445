"""Columns of the whole network: places of different sizes count by their units, pairs or negative values."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from plasticity_lab.diagnostics.dead_units import DeadUnits
from plasticity_lab.diagnostics.dormant_units import DormantUnits
from plasticity_lab.diagnostics.duplicate_units import DuplicateUnits
from plasticity_lab.diagnostics.feature_rank import FeatureRank
from plasticity_lab.diagnostics.grama import GraMa
from plasticity_lab.diagnostics.learned_slopes import LearnedSlopes
from plasticity_lab.diagnostics.negative_slope import NegativeSlope
from plasticity_lab.diagnostics.saturated import Saturated
from plasticity_lab.diagnostics.zero_gradient_units import ZeroGradientUnits
from tests.diagnostics.test_gradient_set import shown
from tests.helpers.shown import seen, view_given

UNITS = {
    "dead_units": (DeadUnits(), "relu"),
    "dormant_units": (DormantUnits(tau=0.8), "relu"),
    "duplicate_units": (DuplicateUnits(similarity=0.3), "relu"),
    "grama_inactive": (GraMa(tau=0.9), "relu"),
    "zero_gradient_units": (ZeroGradientUnits(floor=0.02), "relu"),
}


def by_place(column, diagnostic, activation):
    """The column of the whole network of a CNN, its columns by place, and the view."""
    view = shown("cnn", activation, runs=1)
    view.parameters["hidden1.bias"].add_(0.3)
    view.parameters["conv1.bias"].sub_(0.3)
    found = seen(diagnostic, view)
    return found[column], [found[f"{column}_{unit.name}"] for unit in view.units], view


def check(total, parts, sizes):
    """The total weighs parts by their sizes, and these parts can tell it from a plain mean."""
    assert len({*sizes}) > 1
    assert total == pytest.approx(np.average(parts, weights=sizes), rel=1e-9)
    assert abs(total - np.mean(parts)) > 1e-4


@pytest.mark.parametrize("column", UNITS)
def test_shares_of_units_count_units(column):
    total, parts, view = by_place(column, *UNITS[column])
    check(total, parts, [unit.produced[0] for unit in view.units])


@pytest.mark.parametrize(("column", "diagnostic"), [("dead_pairs", DeadUnits()), ("saturated", Saturated(flat=0.9))])
def test_shares_of_pairs_count_pairs(column, diagnostic):
    total, parts, view = by_place(column, diagnostic, "elu")
    check(total, parts, [view.forward().hidden[unit.name].numel() for unit in view.units])


def test_the_slope_of_the_probe_counts_negative_values():
    total, parts, view = by_place("slope_probe", NegativeSlope(), "elu")
    check(total, parts, [int((view.forward().before[unit.name] < 0).sum()) for unit in view.units])


def test_slopes_under_a_law_count_units():
    view = shown("cnn", "prelu", runs=1, scope="layer")
    slopes = [0.1 * (1 + at) for at, _ in enumerate(view.units)]
    for unit, slope in zip(view.units, slopes, strict=True):
        view.parameters[f"{unit.name}.activation.slope"].fill_(slope)
    check(seen(NegativeSlope(), view)["slope_half_normal"], slopes, [unit.activated[0] for unit in view.units])
    assert seen(LearnedSlopes(), view)["slope_max"] == pytest.approx(max(slopes))


def test_ranks_of_several_last_layers_are_averaged():
    """An actor and a critic: the features of one have rank 4, of the other 2, and a layer before them counts not."""
    last = {"actor": torch.eye(4), "critic": torch.diag(torch.tensor([1.0, 1.0, 0.0, 0.0])), "first": torch.ones(4, 4)}
    units = [SimpleNamespace(name=name, outgoing=["critic" if name == "first" else f"{name} output"]) for name in last]
    outputs = {"logits": "actor output", "value": "critic output"}
    view = SimpleNamespace(
        units=units,
        model=SimpleNamespace(design=SimpleNamespace(outputs=outputs)),
        once=lambda key, make: make(),
        forward=lambda: SimpleNamespace(hidden={name: value.unsqueeze(0) for name, value in last.items()}),
    )
    assert [value.item() for value in FeatureRank().look(view).values()] == pytest.approx([3, 3, 3])


def test_a_unit_of_two_values_is_dead_if_both_are():
    """CReLU passes on z and −z: of a unit with both signs neither is always 0, of another one is, of the third both."""
    found = seen(DeadUnits(), view_given([[1.0, 2.0, 9.0, 9.0], [-1.0, 3.0, 9.0, 9.0]] * 2, "crelu"))
    assert found["dead_units_hidden1"] == 0
    silent = seen(DeadUnits(), view_given([[1.0, 0.0, 9.0, 9.0], [-1.0, 0.0, 9.0, 9.0]] * 2, "crelu"))
    assert silent["dead_units_hidden1"] == 1 / 2
