"""What units do in an update, against the plain definitions."""

import numpy as np
import pytest
import torch

from plasticity_lab.activations.crelu import CReLU
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.interventions.resets import fired, mean_size, outgoing_size
from plasticity_lab.networks.actor_critic import ActorCritic
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Shapes, Unit
from plasticity_lab.randomness.host import host_stream
from tests.helpers.packs import CPU

ROWS = torch.tensor([0.5, 0.25, 0.25, 0.0])
"""Weights of a batch whose last row only fills it up."""


@pytest.mark.parametrize("weights", [None, ROWS])
@pytest.mark.parametrize("pixels", [(), (1, 1), (5, 5), (6, 4)])
@pytest.mark.parametrize("last", [True, False])
def test_activity_is_what_its_definition_says(weights, pixels, last):
    """Channels last in memory, as convolutions leave them, or first."""
    normal = host_stream(0, "h").normal(size=(2, 4, 3, *pixels)).astype(np.float32)
    h = torch.from_numpy(normal)
    if last:
        h = h.movedim(2, -1).contiguous().movedim(-1, 2)
    share = np.full(4, 0.25) if weights is None else weights.numpy().astype(np.float64)
    size = np.abs(normal.astype(np.float64)).reshape(2, 4, 3, -1)
    expected = np.einsum("b,kbvp->kv", share, size) / size.shape[3]
    np.testing.assert_allclose(mean_size(h, weights).numpy(), expected, rtol=1e-5)
    largest = size[:, share > 0].max(axis=(1, 3))
    unit = Unit("place", (3, *pixels), "layer", ("next",))
    for epsilon in largest.mean(axis=1), np.zeros(2), np.full(2, 9.0):
        found = fired(h, weights, unit, torch.from_numpy(epsilon.astype(np.float32)))
        assert np.array_equal(found.numpy(), largest > epsilon[:, None])


def test_of_two_values_that_a_unit_passes_on_one_is_enough_to_fire():
    """CReLU: units 0 and 1 give values 0 and 1 by φ₁, 2 and 3 by φ₂."""
    h = torch.zeros(1, 2, 4)
    h[0, 1, 3] = -1.0
    unit = Unit("place", (2,), "layer", ("next",))
    assert fired(h, None, unit, torch.tensor([0.5])).tolist() == [[False, True]]


@pytest.mark.parametrize(("activation", "passed"), [(ReLU(), 4), (CReLU("half"), 4)])
def test_weights_out_are_those_of_all_active_layers_that_follow(activation, passed):
    """Heads of 2 · 1 and 3 outputs with weights −1 and 2: |−1| · 2 + |2| · 1 while body a learns, 1 · 3 + 2 with b."""
    shapes = {"a": Shapes((2,), {"policy": 2, "value": 1}), "b": Shapes((2,), {"policy": 3, "value": 1})}
    model = Model(ActorCritic(width=4, depth=1), [activation] * 2, shapes)
    parameters = model.start([0, 1], CPU)
    for body, outputs in (("a", 2), ("b", 3)):
        parameters[f"{body}.policy.weight"][..., :outputs] = -1.0
        parameters[f"{body}.value.weight"][..., :1] = 2.0
    (trunk,) = (unit for unit in model.units if unit.name == "trunk1")
    for body, expected in (("a", 4.0), ("b", 5.0)):
        size = outgoing_size(model, model.active(parameters, body), trunk)
        assert size.tolist() == [[expected] * passed] * 2
