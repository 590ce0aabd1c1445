"""Networks are given uint8 pixels as they are, and take them as 0 … 1."""

import numpy as np
import torch

from plasticity_lab.activations.relu import ReLU
from plasticity_lab.networks.actor_critic import ActorCritic
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Shapes
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.pixels import of_pixels
from tests.helpers.packs import CPU


def test_255_is_1_and_every_byte_is_its_share_of_it():
    scaled = of_pixels(torch.arange(256, dtype=torch.uint8))
    assert scaled.dtype == torch.float32
    assert (scaled[0], scaled[255]) == (0, 1)
    assert np.allclose(scaled, np.arange(256) / 255, rtol=1e-7, atol=0)


def test_a_network_answers_bytes_as_it_answers_what_they_stand_for():
    model = Model(ActorCritic(width=8), [ReLU()] * 2, {"game": Shapes((1, 10, 5), {"policy": 3, "value": 1})})
    parameters = model.start([0, 1], CPU)
    pixels = torch.from_numpy(host_stream(0, "pixels").integers(0, 256, (2, 8, 50)).astype(np.uint8))
    given, as_floats = (model.forward(parameters, {}, x, None)[0] for x in (pixels, of_pixels(pixels)))
    assert all(torch.equal(given[name], as_floats[name]) for name in ("policy", "value"))
    raw = model.forward(parameters, {}, pixels.float(), None)[0]
    assert not torch.allclose(given["policy"], raw["policy"])
