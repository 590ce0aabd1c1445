"""The acting network: what it is given in bytes and in floats, flat and as images, and whose draws are whose."""

import numpy as np
import pytest

from plasticity_lab.agents.acting.network import ActingNetwork
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.parts import parts_of
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Shapes
from tests.helpers.packs import CPU, needs_compiler, run

IMAGE, N = (2, 8, 8), 3
CNN = {"name": "cnn", "kernel": 3, "channels": 4, "width": 8, "padding": "same"}


def network_of(seeds, network, shape, activation="relu"):
    parts = parts_of([run(seed, activation, network=network, images=16) for seed in seeds])
    model = Model(parts.network, parts.activations, {"board": Shapes(shape, {"values": 4})})
    return PackedNetwork(parts, model, CPU)


def acting(seeds=(5, 6), network=CNN, shape=IMAGE, activation="relu", **how):
    settings = {"randomised": False, "compiled": False, "structure": f"{network} {shape}"} | how
    return ActingNetwork(network_of(seeds, network, shape, activation), "board", shape, N, **settings)


def frames(runs=2):
    return np.random.default_rng(0).integers(0, 256, (runs, N, *IMAGE), np.uint8)


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=[needs_compiler, pytest.mark.slow])])
def test_bytes_are_what_the_same_numbers_from_0_to_1_are(compiled):
    shown = frames()
    in_bytes = acting(dtype=np.uint8, compiled=compiled)
    in_floats = acting(compiled=compiled)
    one, other = in_bytes(shown, 0)["values"], in_floats(shown.astype(np.float32) / np.float32(255), 0)["values"]
    assert one.shape == (2, N, 4)
    assert np.array_equal(one, other)
    if not compiled:
        assert np.array_equal(one, in_bytes.network.answers(shown)["values"])


def test_images_are_what_the_same_numbers_in_a_row_are():
    shown = frames()
    flat = acting(network={"width": 8}, shape=(128,), dtype=np.uint8)(shown.reshape(2, N, 128), 0)
    assert np.array_equal(acting(network={"width": 8}, dtype=np.uint8)(shown, 0)["values"], flat["values"])


def test_networks_of_other_names_draw_other_slopes_and_each_call_its_own():
    shown = frames()
    draws = {"activation": "rrelu", "dtype": np.uint8, "randomised": True}
    plain, online, target = (acting(name=name, **draws) for name in ("", "online", "target"))
    values = [network(shown, count)["values"].tobytes() for network in (plain, online, target) for count in (0, 1)]
    assert len(set(values)) == 6
    assert acting(name="online", **draws)(shown, 1)["values"].tobytes() == values[3]


def test_observations_of_another_type_or_shape_are_refused():
    network = acting(dtype=np.uint8)
    with pytest.raises(ValueError, match=r"float32; .* \(2, 3, 2, 8, 8\) in uint8"):
        network(frames().astype(np.float32), 0)
    with pytest.raises(ValueError, match=r"\(2, 1, 2, 8, 8\)"):
        network(frames()[:, :1], 0)
    with pytest.raises(ValueError, match=r"int64; .* float32 or uint8"):
        acting(dtype=np.int64)
