"""Noise on its way from keys to a network's layers, and losses of a network's own on theirs to the update."""

import numpy as np
import pytest
import torch

from plasticity_lab.activations.relu import ReLU
from plasticity_lab.activations.rrelu import RReLU
from plasticity_lab.agents.update import _forward, drawn
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.randomness.device import run_keys
from tests.helpers.made_up_networks import ROUTED, NoisyMLP, RoutedMLP
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU, images, needs_compiler, run, trained

DIGITS = images(8, 189, 45)
STREAM = {"images": 189, "tasks": 2, "batch_size": 13}


def keys(runs):
    return {purpose: run_keys(range(runs), purpose) for purpose in ("activation", "noise")}


@pytest.mark.parametrize("scope", ["sample", "batch"])
def test_a_model_counts_the_noise_of_its_layers_and_each_layer_gets_its_own(scope):
    model = classifier(NoisyMLP(width=6, scope=scope), [ReLU()], (1, 2, 2), 3)
    rows = 5 if scope == "sample" else 1
    even = [count + count % 2 for count in (rows * (4 + 6), rows * (6 + 6), rows * (6 + 3))]
    assert model.noise(5) == sum(even)
    assert model.draws(5) == 0
    numbers = torch.arange(model.noise(5)).float().unsqueeze(0)
    layers = model._with_noise(numbers, 5, None).layers
    assert torch.equal(torch.cat([layer.noise_KN for layer in layers], dim=1), numbers)
    assert [layer.noise_KN.shape[1] for layer in layers] == even


def test_without_noise_outputs_are_those_of_the_means_and_noise_changes_with_the_count():
    model = classifier(NoisyMLP(width=6), [ReLU()] * 2, (1, 2, 2), 3)
    parameters, x = model.start([0, 1], CPU), torch.randn(2, 4, 4)

    def logits(count):
        more = drawn(model, keys(2), torch.tensor(count), 4)
        assert more.keys() == {"noise"}
        return model.forward(parameters, {}, x, None, **more)[0]["logits"]

    still = model.forward(parameters, {}, x, None)[0]["logits"]
    assert torch.equal(logits(1), logits(1))
    assert not torch.equal(logits(1), logits(2))
    assert (logits(1) - still).abs().max() < 1


def test_noise_does_not_move_the_numbers_of_a_randomised_activation():
    plain, noisy = (classifier(network, [RReLU()], (1, 2, 2), 3) for network in (MLP(width=6), NoisyMLP(width=6)))
    both = drawn(noisy, keys(1), torch.tensor(7), 4)
    assert both.keys() == {"drawn", "noise"}
    assert torch.equal(both["drawn"], drawn(plain, keys(1), torch.tensor(7), 4)["drawn"])


def pack_of(target, runs, place, activation="relu", **network):
    """Our run among mates of other seeds and rates."""
    settings = STREAM | {"network": {"target": target} | network}
    mates = [run(100 + k, activation, optimizer={"lr": 10.0 ** -(2 + k % 3)}, **settings) for k in range(runs)]
    mates[place] = run(1, activation, **settings)
    return mates


def test_a_networks_own_losses_are_added_to_the_agents():
    """The gradient by a parameter behind the watched layer alone is that of the agent's loss; others move more."""
    network = {"width": 12}
    plain = trained(pack_of("plasticity_lab.networks.mlp.MLP", 2, 0, **network), DIGITS)
    idle = trained(pack_of(ROUTED, 2, 0, weight=0.0, **network), DIGITS)
    heavy = trained(pack_of(ROUTED, 2, 0, weight=30.0, **network), DIGITS)
    np.testing.assert_allclose(idle.of(0)["loss"], plain.of(0)["loss"], rtol=1e-5)

    def balance(of):
        own = classifier(RoutedMLP(12, weight=1.0), [ReLU()] * 2, (1, 8, 8), 10)
        x = torch.from_numpy(DIGITS.train_images[:40].reshape(1, 40, -1) / 255).float().expand(2, -1, -1)
        outputs, hidden = own.forward(of.agent.weights(), {}, x, None)
        assert outputs.keys() == {"logits"}
        _, for_interventions = _forward(own, {}, None, False, {}, of.agent.weights(), x)
        assert for_interventions.keys() == {unit.name for unit in own.units}, "of `now.forward`"
        return float(hidden[own.losses[0]][0])

    assert balance(heavy) < 0.5 * balance(plain)


@pytest.mark.slow
@needs_compiler
def test_interventions_that_watch_units_see_no_losses():
    watching = "plasticity_lab.interventions.redo.ReDo", {"every": 3}
    settings = STREAM | {"network": {"target": ROUTED}, "intervention": watching}
    eager, compiled = (trained([run(1, **settings)], DIGITS, compiled=each).of(0) for each in (False, True))
    np.testing.assert_allclose(eager["loss"], compiled["loss"], rtol=1e-4)
