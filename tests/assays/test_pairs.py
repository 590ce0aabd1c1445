"""Pairs of an aged and a fresh network: equal ones differ by 0, and broken ones give a number or a reason."""

import numpy as np
import pytest
import torch

from plasticity_lab.assays.fresh_labels import FreshLabels
from plasticity_lab.assays.paired_offset import PairedOffset
from plasticity_lab.assays.readings import UNDEFINED, interval, steps_to, values_of
from plasticity_lab.assays.teacher import Teacher
from plasticity_lab.errors import ConfigError
from tests.helpers.assays import FEW, aged, begun, learned, own_fresh, setup

ONE = FEW | {"repetitions": 1}


@pytest.mark.parametrize("kind", [FreshLabels, Teacher, PairedOffset])
@pytest.mark.parametrize("activation", ["relu", "rrelu"])
def test_an_identical_network_differs_by_exactly_0(kind, activation):
    own = setup(kind(**ONE), activation=activation)
    found = values_of(own.assay, learned(begun(own, own_fresh(own))), 2)
    assert found["loss_gap"].tolist() == [0, 0]
    assert found["loss_ratio"].tolist() == [1, 1]
    assert (found["aged_steps"] == found["fresh_steps"]).all()
    other = values_of(own.assay, learned(begun(own)), 2)
    assert (other["loss_gap"] != 0).all()
    assert (other["fresh_loss"] == found["fresh_loss"]).all(), "the fresh network does not depend on the aged one"


def test_a_network_without_living_units_learns_no_more_than_its_bias():
    own = setup(FreshLabels(**ONE | {"steps": 60, "points": 3}, lr=0.01))
    dead = {name: torch.full_like(value, -1.0) if "hidden" in name else value for name, value in aged(own).items()}
    found = values_of(own.assay, learned(begun(own, dead)), 2)
    assert (found["loss_gap"] > 0.02).all()
    assert (found["undefined"] == 0).all()
    assert np.isnan(found["aged_steps"]).all(), "it never gets there"
    assert np.isfinite(found["fresh_steps"]).all()


def test_a_network_with_nan_has_no_difference_but_a_reason_and_the_others_keep_theirs():
    own = setup(FreshLabels(**ONE))
    broken = aged(own)
    whole = values_of(own.assay, learned(begun(own, broken)), 2)
    broken["hidden1.weight"] = broken["hidden1.weight"].clone()
    broken["hidden1.weight"][1, 0, 0] = float("nan")
    found = values_of(own.assay, learned(begun(own, broken)), 2)
    assert UNDEFINED[int(found["undefined"][1])] == "the aged network's loss is not finite"
    assert np.isnan(found["loss_gap"][1])
    assert np.isnan(found["loss_ratio"][1])
    for name, values in found.items():
        assert repr(values[0]) == repr(whole[name][0]), name


def test_a_fresh_head_is_the_fresh_networks():
    own = setup(FreshLabels(**ONE, head="fresh"))
    parameters = begun(own).network.parameters
    assert (parameters["output.weight"][::2] == parameters["output.weight"][1::2]).all()
    assert (parameters["hidden1.weight"][::2] != parameters["hidden1.weight"][1::2]).any()


def test_kept_moments_continue_as_the_run_would_have():
    """By hand: Adam's first step with m = 0.3, v = 0.04 at t = 100, for a parameter without a gradient."""
    own = setup(FreshLabels(**ONE, optimizer="own", moments="kept"))
    start = aged(own)
    moments = {kind: {name: torch.full_like(value, of) for name, value in start.items()}
               for kind, of in (("first", 0.3), ("second", 0.04))}  # fmt: skip
    copies = begun(own, start, moments=moments, counts=[99, 99])
    before = copies.network.parameters["output.weight"].clone()
    copies.train(1)
    change = (copies.network.parameters["output.weight"] - before)[:, :, 11]  # padding: no gradient
    first, second = 0.9 * 0.3 / (1 - 0.9**100), 0.999 * 0.04 / (1 - 0.999**100)
    np.testing.assert_allclose(change[::2], -0.001 * first / second**0.5, rtol=1e-4)
    assert (change[1::2] == 0).all(), "a fresh network begins without moments"


def test_steps_are_counted_to_the_fresh_networks_median_by_hand():
    # Three repetitions; the fresh ones end at 1, 2 and 6, so that the threshold is 2.
    fresh = [[8, 8, 8], [4, 6, 7], [1, 2, 6]]
    slow = [[8, 8, 8], [5, 5, 5], [3, 1, 2]]
    curves = np.stack([np.array(slow, float), np.array(fresh, float)], axis=-1)[:, None]
    assert steps_to([0, 10, 20], curves).tolist() == [[20.0, 20.0]]
    fast = np.array([[8, 8, 8], [0, 0, 0], [0, 0, 0]], float)
    curves[:, 0, :, 0] = fast
    assert steps_to([0, 10, 20], curves).tolist() == [[7.5, 20.0]], "linear between 8 at 0 and 0 at 10"
    curves[..., 0] = 3
    assert np.isnan(steps_to([0, 10, 20], curves)[0, 0])


def test_the_interval_is_the_t_interval():
    low, high = interval(np.array([[1.0, 2.0, 3.0]]))
    assert low[0] == pytest.approx(2 - 4.302653 / 3**0.5, rel=1e-6)
    assert high[0] == pytest.approx(2 + 4.302653 / 3**0.5, rel=1e-6)
    assert np.isnan(interval(np.array([[1.0]]))[0]).all()


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"moments": "kept"}, "assay.optimizer=own"),
        ({"points": 500}, "assay.steps"),
        ({"repetitions": 0}, "assay.repetitions"),
    ],
)
def test_a_wrong_setting_is_named(settings, named):
    with pytest.raises(ConfigError, match=named):
        FreshLabels(**settings)
