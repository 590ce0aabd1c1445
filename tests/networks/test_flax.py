"""Encoders against outputs and gradients that flax gave once (tests/networks/reference/make_flax.py)."""

from pathlib import Path

import numpy as np
import pytest
import torch

from plasticity_lab.activations.relu import ReLU
from plasticity_lab.networks.impala import Impala
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.nature import Nature
from plasticity_lab.networks.network import Shapes
from plasticity_lab.networks.small_impala import SmallImpala
from plasticity_lab.stacking.conv import margins
from plasticity_lab.stacking.normed import linear_of
from tests.helpers.packs import CPU
from tests.networks.reference import numbers

NETWORKS = {
    "nature": Nature(hidden=numbers.HIDDEN),
    "impala": Impala(hidden=numbers.HIDDEN),
    "small_impala": SmallImpala(hidden=numbers.HIDDEN),
    "small_impala_100": SmallImpala(hidden=numbers.HIDDEN, pooled=False),
}


@pytest.mark.parametrize("case", numbers.CASES)
def test_outputs_and_gradients_are_those_of_flax(case):
    built = Model(NETWORKS[case], [ReLU()], {"game": Shapes(numbers.CASES[case], {"q": numbers.ACTIONS})})
    parameters = built.start([0], CPU)
    sizes = {}
    for layer in map(linear_of, built.design.layers):
        inputs, outputs = getattr(layer, "linear", layer).inputs, layer.outputs
        weight, bias = numbers.weight(case, layer.name, inputs, outputs), numbers.bias(case, layer.name, outputs)
        parameters[f"{layer.name}.weight"][0, :, :outputs] = torch.from_numpy(weight)
        parameters[f"{layer.name}.bias"][0, 0, :outputs] = torch.from_numpy(bias)
        sizes[layer.name] = outputs
    for value in parameters.values():
        value.requires_grad_()
    x = torch.from_numpy(numbers.images(case)).flatten(1).unsqueeze(0)
    q = built.forward(parameters, {}, x, None)[0]["q"][0]
    (q * torch.from_numpy(numbers.slope(case))).sum().backward()
    with np.load(Path(__file__).parent / "reference" / "flax.npz") as flax:
        assert sum(name.startswith(f"{case} ") for name in flax.files) == 1 + len(parameters)
        np.testing.assert_allclose(q.detach().numpy(), flax[f"{case} q"], rtol=1e-5, atol=1e-5)
        for name, value in parameters.items():
            layer, _, part = name.rpartition(".")
            gradient = value.grad[0, :, : sizes[layer]].numpy()
            found = numbers.kept(case, name, gradient if part == "weight" else gradient[0])
            expected = flax[f"{case} {name}"]
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max(), err_msg=name)


@pytest.mark.parametrize(
    ("side", "size", "stride", "before", "behind"),
    [
        *[(84, 3, 2, 0, 1), (42, 3, 2, 0, 1), (21, 3, 2, 1, 1), (10, 3, 2, 0, 1)],
        *[(84, 8, 4, 2, 2), (21, 4, 2, 1, 2), (11, 3, 1, 1, 1)],
    ],
)
def test_margins_of_the_encoders_are_those_of_jax(side, size, stride, before, behind):
    assert margins(side, size, stride, "same") == (before, behind)
