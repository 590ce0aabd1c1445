"""Each diagnostic of networks that people have, compared with slow forms written by hand."""

import pytest
import torch
from torch.nn import functional as f

from plasticity_lab.diagnostics.curvature import Curvature
from plasticity_lab.diagnostics.gradient_rank import GradientRank
from plasticity_lab.outside import measure
from plasticity_lab.outside.measurement import HOOKS, TRACING
from tests.helpers import outside_architectures as architectures
from tests.helpers import outside_networks as networks
from tests.helpers.slow_forms import first, numbers

DRAW = torch.Generator().manual_seed(0)


def normal(*shape):
    return torch.randn(shape, generator=DRAW, dtype=torch.float64)


def labels(examples=10):
    return torch.randint(0, 3, (examples,), generator=DRAW)


def classified(outputs, targets):
    logits = outputs["logits"] if isinstance(outputs, dict) else outputs
    return f.cross_entropy(logits, targets, reduction="none")


def ppo(outputs, targets):
    actions, returns = targets
    return f.cross_entropy(outputs[0], actions, reduction="none") + 0.5 * (outputs[1] - returns).square()


ROWS, IMAGES = normal(10, 6), normal(10, 3, 6, 6)
IDS = {
    "ids": torch.randint(0, 9, (10, 5), generator=DRAW),
    "mask": (normal(10, 5) > -0.7).double(),
    "scale": normal(10),
}
IDS["mask"][:, 0] = 1
SEQUENCES = normal(10, 4, 6), normal(10, 1)
CASES = {
    "tied": (networks.Tied, ROWS, "fc1", TRACING),
    "weight norm": (networks.WeightNormed, ROWS, None, TRACING),
    "convolutions": (networks.Convolutions, normal(10, 2, 6, 6), "grouped", TRACING),
    "gates": (networks.Gates, ROWS, "up", TRACING),
    "policy": (networks.Policy, SEQUENCES, "encoder", HOOKS),
    "branching": (networks.Branching, ROWS, "again", HOOKS),
    "mapped": (networks.Mapped, IDS, "fc1", TRACING),
    "own weights": (networks.Own, normal(10, 4, 6), None, TRACING),
    "transformer": (architectures.Transformer, normal(10, 3, 4), "encoder.layers.1.linear1", None),
    "transformer, norm first": (lambda: architectures.Transformer(True), normal(10, 3, 4), "out", None),
    "resnet": (architectures.ResNet18, normal(6, 3, 24, 24), "layer3.0.conv1", TRACING),
    "vit": (architectures.VisionTransformer, IMAGES, "layers.0.mlp.0", None),
}
"""Name → network, inputs, the layer of `gradient_rank`, and how the calls are followed."""
OTHERS = ["dead_units", "dormant_units", "duplicate_units", "saturated", "negative_slope", "feature_rank", "grama",
          "zero_gradient_units", "gradient_noise"]  # fmt: skip


def made(make):
    with torch.random.fork_rng():
        torch.default_generator.manual_seed(0)
        module = make().double()
    for value in module.parameters():
        if value.dim() < 2:  # biases, scales
            value.data += 0.1 * torch.randn(value.shape, generator=torch.Generator().manual_seed(1)).double()
    return module


def batches(x, y):
    """Two batches; mappings are one."""
    if isinstance(x, dict):
        return [{**x, "labels": y}]
    if isinstance(x, tuple):
        return [(tuple(own[at] for own in x), tuple(own[at] for own in y)) for at in (slice(7), slice(7, None))]
    return [(x[:4], y[:4]), (x[4:], y[4:])]


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_those_of_slow_forms(name):
    make, x, layer, by = CASES[name]
    module, y = made(make), labels(len(first(x)))
    y, loss = ((y, normal(len(y))), ppo) if name == "policy" else (y, classified)
    kept = {key: value.clone() for key, value in module.state_dict().items()}
    names = [key for key, _ in module.named_parameters()]
    small = sum(value.numel() for value in module.parameters()) < 700
    chosen = [Curvature(block="all" if small else names[-1], tolerance=1e-7), *OTHERS]
    found = measure(module.train(), batches(x, y), chosen + [GradientRank(layer=layer)] * (layer is not None), loss)
    assert module.training
    weight, block = f"{layer}.weight" if layer else None, names if small else names[-1:]
    expected = numbers(module.eval(), x, y, loss, weight, block)
    for column, value in expected.items():
        assert found[column] == pytest.approx(value, rel=1e-6, abs=1e-9, nan_ok=True), column
    for place in found.places:
        assert f"dormant_units_{place.replace('.', '_')}" in expected
    assert by is None or found.by == by
    assert all(torch.equal(value, kept[key]) for key, value in module.state_dict().items())
