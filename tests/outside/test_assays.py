"""An assay of any torch module: the pair shares data and order, equal networks differ by 0, nothing else changes."""

import pytest
import torch
from torch import nn

from plasticity_lab.errors import InputError
from plasticity_lab.outside.assays import PROBLEMS, assay

X = torch.randn(40, 6, generator=torch.Generator().manual_seed(0))


def made(drop=0.0):
    return nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(drop), nn.Linear(16, 4))


@pytest.mark.parametrize("problem", PROBLEMS)
def test_an_equal_network_differs_by_exactly_0_and_another_does_not(problem):
    torch.default_generator.manual_seed(3)
    weights = made().state_dict()

    def same():
        network = made(0.3)
        network.load_state_dict(weights)
        return network

    how = {"x": X, "problem": problem, "classes": 4, "steps": 40, "batch_size": 8, "points": 2, "lr": 0.02}
    aged = same()
    before = torch.default_generator.get_state()
    found = assay(aged, fresh=same, **how)
    assert found.loss_gap == 0
    assert found.undefined == ""
    assert found.curves.shape == (3, 3, 2)
    assert (found.curves[-1] != found.curves[0]).all()
    assert all((value == weights[name]).all() for name, value in aged.state_dict().items()), "left as it is"
    assert (torch.default_generator.get_state() == before).all()
    other = assay(aged, fresh=lambda: made(0.3), **how)
    assert other.loss_gap != 0
    again = assay(aged, fresh=lambda: made(0.3), **how)
    assert (again.curves == other.curves).all(), "a function of its arguments"


def test_it_learns_the_labels():
    found = assay(made(), fresh=made, x=X, classes=4, steps=200, batch_size=8, points=2, lr=0.02)
    assert (found.curves[-1] < 0.7 * found.curves[0]).all()


def test_a_network_with_nan_has_a_reason():
    broken = made()
    broken[0].weight.data[0, 0] = float("nan")
    found = assay(broken, fresh=made, x=X, classes=4, steps=4, batch_size=8, points=2)
    assert found.undefined == "the aged network's loss is not finite"
    assert found.loss_gap != found.loss_gap


@pytest.mark.parametrize(
    ("more", "named"),
    [({"problem": "x"}, "fresh_labels"), ({}, "classes=10"), ({"x": X[:1], "classes": 2}, "at least 2")],
)
def test_a_wrong_argument_is_named(more, named):
    with pytest.raises(InputError, match=named):
        assay(made(), fresh=made, **{"x": X} | more)
