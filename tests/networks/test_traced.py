"""Networks whose forward pass is written once: the same designs and numbers as shipped networks of the same form."""

import pytest
import torch

from plasticity_lab.activations.crelu import CReLU
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.cnn import CNN
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Shapes
from plasticity_lab.networks.small_impala import SmallImpala
from plasticity_lab.networks.traced import Traced

IMAGE = (3, 11, 10)
BODIES = {"images": Shapes(IMAGE, {"logits": 5})}


class OfCNN(Traced):
    """The form of `CNN`."""

    called = "of_cnn"

    def __init__(self, norm="none"):
        super().__init__([12, 12], norm=norm)

    def features(self, steps, x):
        for number in (1, 2):
            x = steps.max_pool(steps.activate(steps.conv(f"conv{number}", x, 6, 3)))
        return x


class OfImpala(Traced):
    """The form of `SmallImpala`."""

    called = "of_impala"

    def __init__(self):
        super().__init__([12])

    def features(self, steps, x):
        x = steps.max_pool(steps.conv("stack1.conv", x, 16, 3), 3, 2, "same")
        for block in ("stack1.block1", "stack1.block2"):
            h = steps.conv(f"{block}.conv1", steps.activate(x), 16, 3)
            x = x + steps.conv(f"{block}.conv2", steps.activate(h), 16, 3)
        return steps.activate(x)


def model(network, activation=ReLU):
    return Model(network, [activation(), activation()], BODIES)


def outputs(model, parameters):
    x = torch.randn(2, 4, 3 * 11 * 10, generator=torch.Generator().manual_seed(1))
    return model.forward(parameters, {}, x, None)[0]["logits"]


@pytest.mark.parametrize("activation", [ReLU, CReLU])
@pytest.mark.parametrize("norm", ["none", "layer"])
def test_a_plain_network_has_the_design_of_the_shipped_one(activation, norm):
    shipped = CNN(channels=6, kernel=3, width=12, padding="same", norm=norm).design(BODIES, activation())
    assert OfCNN(norm).design(BODIES, activation()) == shipped


def test_a_residual_network_has_the_numbers_of_the_shipped_one():
    ours, theirs = model(OfImpala()), model(SmallImpala(hidden=12, init="default"))
    weights = theirs.start([3, 4], torch.device("cpu"))
    renamed = {name.replace("hidden.", "hidden1."): value for name, value in weights.items()}
    given = dict(zip(ours.start([3, 4], torch.device("cpu")), renamed.values(), strict=True))
    assert [unit.is_sum for unit in ours.units] == [unit.is_sum for unit in theirs.units]
    assert [unit.outgoing for unit in ours.units][:-2] == [unit.outgoing for unit in theirs.units][:-2]
    assert torch.equal(outputs(ours, given), outputs(theirs, weights))


class Bare(OfCNN):
    def features(self, steps, x):
        return steps.conv("conv1", steps.activate(steps.conv("conv0", x, 4, 3)), 4, 3)


class Unequal(OfCNN):
    def features(self, steps, x):
        return steps.activate(steps.conv("conv0", x, 4, 3) + steps.conv("conv1", x, 8, 3))


class Small(OfCNN):
    def features(self, steps, x):
        return steps.activate(steps.conv("conv0", x, 4, 12, padding="valid"))


@pytest.mark.parametrize(("network", "words"), [(Bare, "end with"), (Unequal, "adds maps"), (Small, "12 × 12")])
def test_features_that_make_no_network_are_refused(network, words):
    with pytest.raises(ConfigError, match=words):
        network().design(BODIES, ReLU())


def test_only_units_with_a_single_use_can_be_reset():
    assert [unit.name for unit in model(OfImpala()).units if not unit.is_sum] == [
        "stack1.block1.conv1", "stack1.block2.conv1", "hidden1",
    ]  # fmt: skip
