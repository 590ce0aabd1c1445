"""Continuous continual backprop: its arithmetic by hand, rows of following layers, and packs of several strengths."""

import pytest
import torch

from plasticity_lab.assembly import assembled
from plasticity_lab.component import build
from plasticity_lab.interventions.ccbp import ContinuousContinualBackprop
from plasticity_lab.interventions.now import Now
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU, choice, differing, images, run, trained

CLASS, _ = choice("intervention", "ccbp")
IMAGES = images(8, 64, 20)
STREAM = {"images": 64, "tasks": 2, "epochs": 2}


def network_of(activation: str, runs: int, width: int = 3, **how):
    built = build("activation", activation, *choice("activation", activation))
    model = classifier(MLP(width=width, **how), [built] * runs, (2,), 2)
    return model, model.start(list(range(runs)), CPU)


def test_an_update_and_a_reset_by_hand():
    """Two inputs, three units in each of two layers; ρ 0.5, sharpness 2, decay 0.5, for two runs; the second has ρ 0.

    Gradients of hidden1: units with mean |g| of 3, 1 and 0.5, and of their biases 0, 1 and 0.5: sizes 3, 2 and 1, with
    the mean 2. So utilities are 1 + ½ (1.5 − 1) = 1.25, 1 and 0.75, and α = 0.5 · sigmoid(−2 (u − 1)) = 0.5 · 0.377541,
    0.25 and 0.5 · 0.622459. hidden2 has no gradient: u = ½, and α = 0.5 · sigmoid(1) = 0.5 · 0.731059.
    """
    pack = [ContinuousContinualBackprop(strength, sharpness=2.0, decay=0.5, every=1) for strength in (0.5, 0.0)]
    model, parameters = network_of("relu", 2)
    first = {name: value.clone() for name, value in parameters.items()}
    now = Now(model, parameters, on_run_axis(pack), {}, seeds=[0, 1], updates=1)
    now = now._replace(state=pack[0].start(now))
    for value in parameters.values():
        value.add_(1.0)
    before = {name: value.clone() for name, value in parameters.items()}
    gradients = {name: torch.zeros_like(value) for name, value in parameters.items()}
    gradients["hidden1.weight"][:, :, :3] = torch.tensor([[6.0, -1.0, 0.0], [0.0, 1.0, -1.0]])
    gradients["hidden1.bias"][:, 0, :3] = torch.tensor([0.0, -1.0, 0.5])
    now = now._replace(state=pack[0].after_step(now._replace(gradients=gradients)))
    utility = now.state["hidden1.utility"]
    torch.testing.assert_close(utility[0], torch.tensor([1.25, 1.0, 0.75]))
    torch.testing.assert_close(now.state["hidden2.utility"][0], torch.full((3,), 0.5))
    state = pack[0].every_n_updates(now)
    alpha1, alpha2 = torch.tensor([0.1887703, 0.25, 0.3112297]), torch.full((3,), 0.3655293)
    fresh = {
        f"hidden{n}": torch.from_numpy(
            model.start_of(model.design.layer(f"hidden{n}"), 0, host_stream(0, "ccbp", 1, f"hidden{n}"))[
                f"hidden{n}.weight"
            ]
        )
        for n in (1, 2)
    }

    def expected(name: str, kept: torch.Tensor, alpha: torch.Tensor) -> torch.Tensor:
        """Damped as outgoing weights, then moved to fresh ones as incoming weights."""
        return (1 - alpha) * kept * before[f"{name}.weight"][0, :, :3] + alpha * fresh[name][:, :3]

    one = torch.ones(2, 1)
    torch.testing.assert_close(parameters["hidden1.weight"][0, :, :3], expected("hidden1", one, alpha1))
    kept1 = (1 - alpha1).unsqueeze(1)
    torch.testing.assert_close(parameters["hidden2.weight"][0, :, :3], expected("hidden2", kept1, alpha2))
    output = (1 - alpha2).unsqueeze(1) * before["output.weight"][0]
    torch.testing.assert_close(parameters["output.weight"][0], output)
    moved = before["hidden1.bias"][0, 0, :3] + alpha1 * (first["hidden1.bias"] - before["hidden1.bias"])[0, 0, :3]
    torch.testing.assert_close(parameters["hidden1.bias"][0, 0, :3], moved)
    assert torch.equal(parameters["output.bias"], before["output.bias"])
    torch.testing.assert_close(state["hidden1.utility"][0], utility[0] + alpha1 * (1 - utility[0]))
    for name, value in parameters.items():
        assert torch.equal(value[1], before[name][1])


@pytest.mark.parametrize(
    ("activation", "rows"), [("crelu", [0, 1, 2, 3] * 2), ("swiglu", None), ("relu", [0, 1, 2, 3])]
)
def test_all_values_of_a_unit_lose_their_outgoing_weights(activation, rows):
    """A unit of CReLU passes on two values; two units of SwiGLU make one, which keeps the product of both shares."""
    model, parameters = network_of(activation, 1, width=4 if activation == "relu" else 8)
    ccbp = ContinuousContinualBackprop(1.0, sharpness=1.0, every=1)
    now = Now(model, parameters, on_run_axis([ccbp]), {}, seeds=[0], updates=1)
    state = ccbp.start(now)
    units = state["hidden2.utility"].shape[1]
    utility = torch.linspace(-3, 3, units)
    state["hidden1.utility"][:], state["hidden2.utility"][:] = 1e9, utility
    before = parameters["output.weight"].clone()
    ccbp.every_n_updates(now._replace(state=state))
    kept = 1 - torch.sigmoid(1 - utility)
    inputs = before.shape[1]
    each = kept.view(2, -1).prod(dim=0) if rows is None else kept.repeat(inputs // units)
    torch.testing.assert_close(parameters["output.weight"][0], each.unsqueeze(1) * before[0])


def test_a_channel_loses_the_weights_of_all_its_pixels():
    how = {"name": "cnn", "kernel": 3, "padding": "same", "channels": 4, "width": 8}
    _, learner = assembled([run(0, network=how, **STREAM)], IMAGES, CPU, False)
    network, ccbp = learner.network, ContinuousContinualBackprop(1.0, every=1)
    now = Now(network.model, network.parameters, on_run_axis([ccbp]), {}, seeds=[0], updates=1)
    state = ccbp.start(now)
    for name, value in state.items():
        if name.endswith("utility"):
            value.fill_(1e9)
    state["conv2.utility"][0, 1] = -1e9  # alone is reset, and wholly
    before = {name: value.clone() for name, value in network.parameters.items()}
    ccbp.every_n_updates(now._replace(state=state))
    pixels = before["hidden1.weight"].shape[1] // 4
    changed = (network.parameters["hidden1.weight"][0] != before["hidden1.weight"][0]).any(dim=1)
    assert changed.nonzero().flatten().tolist() == list(range(pixels, 2 * pixels))
    assert not network.parameters["hidden1.weight"][0, pixels : 2 * pixels].any()
    moved = (network.parameters["conv2.weight"][0] != before["conv2.weight"][0]).any(dim=0)
    assert moved.nonzero().flatten().tolist() == [1]


def test_packed_alone_and_resumed_at_odd_widths_and_strength_zero_is_the_plain_run():
    """Width 13, with other strengths and learning rates in the other runs of the pack."""
    network = {"width": 13, "norm": "layer"}
    runs = [
        run(
            seed,
            intervention=(CLASS, {"strength": strength, "every": 3}),
            network=network,
            optimizer={"lr": 0.01 * (1 + seed)},
            **STREAM,
        )
        for seed, strength in ((3, 0.5), (1, 0.1), (2, 0.0))
    ]
    packed = trained(runs, IMAGES)
    assert not differing(packed.of(1), trained(runs[1:2], IMAGES).of(0))
    resumed = trained(runs, IMAGES, stops=[1, 1])
    assert not differing(packed.of(0), resumed.of(0))
    kept, again = packed.agent.network.kept, resumed.agent.network.kept
    assert all(torch.equal(value, again[name]) for name, value in kept.items())
    plain = trained([run(2, network=network, optimizer={"lr": 0.03}, **STREAM)], IMAGES)
    assert not differing(packed.of(2), plain.of(0))
    assert not packed.agent.weights()["output.weight"][..., 10:].any()
