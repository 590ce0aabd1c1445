import numpy as np
import pytest
import torch

from plasticity_lab.component import build
from plasticity_lab.interventions.l2_init import L2Init
from plasticity_lab.interventions.now import Now
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU, choice, images, run, trained

L2_INIT = "plasticity_lab.interventions.l2_init.L2Init"
IMAGES = images(8, 61, 20)
STREAM = {"images": 61, "tasks": 2, "epochs": 2}
LEARNED = "activation.slope"


def drifted(interventions: list[L2Init]):
    """What they see when the parameters have drifted by known amounts, three runs wide; and these amounts."""
    activation = build("activation", "prelu", *choice("activation", "prelu"))
    model = classifier(MLP(width=7), [activation] * 3, (1, 8, 8), 10)
    start = model.start([0, 1, 2], CPU)
    now = Now(model, start, on_run_axis(interventions), {})
    state = interventions[0].start(now)
    drift = {
        name: torch.from_numpy(host_stream(0, "drift", name).normal(size=value.shape).astype(np.float32))
        for name, value in start.items()
    }
    drifted = {name: value + drift[name] for name, value in start.items()}
    return now._replace(state=state, parameters=drifted), drift


@pytest.mark.parametrize(("half", "factor"), [(False, 2.0), (True, 1.0)])
def test_value_and_gradient_are_the_closed_form(half, factor):
    """λ Σ (θ − θ₀)² has the gradient 2 λ (θ − θ₀), each run with its own λ; half of both if `half`."""
    strengths = [0.5, 0.0, 0.25]
    pack = [L2Init(strength, half=half) for strength in strengths]
    now, drift = drifted(pack)
    penalty = pack[0].penalty(now)
    gradients = torch.func.grad(lambda values: pack[0].penalty(now._replace(parameters=values)).sum())(now.parameters)
    for k, strength in enumerate(strengths):
        squares = sum(float(value[k].double().square().sum()) for value in drift.values())
        assert float(penalty[k]) == pytest.approx(strength * squares * factor / 2, rel=1e-5)
        for name, gradient in gradients.items():
            torch.testing.assert_close(gradient[k], factor * strength * drift[name][k], rtol=1e-5, atol=1e-6)


def test_what_the_activation_learned_is_drawn_back_unless_left_out():
    for included in (True, False):
        pack = [L2Init(1.0, include_activation=included)] * 3
        now, drift = drifted(pack)
        assert (LEARNED in now.state) is included
        assert now.state.keys() | {LEARNED} == now.parameters.keys()
        counted = {name: value for name, value in drift.items() if included or name != LEARNED}
        expected = sum(value.square().flatten(1).sum(dim=1) for value in counted.values())
        torch.testing.assert_close(pack[0].penalty(now), expected)


def test_the_anchor_does_not_follow_the_parameters():
    pack = [L2Init(1.0)] * 3
    now, _ = drifted(pack)
    before = pack[0].penalty(now)
    for value in now.parameters.values():
        value.mul_(0)
    assert not torch.equal(before, pack[0].penalty(now))


def test_strength_differs_within_a_pack_and_pulls_towards_the_start():
    strengths = [0.0, 1e-3, 1e-1]
    packed = trained([run(1, intervention=(L2_INIT, {"strength": one}), **STREAM) for one in strengths], IMAGES)
    start = packed.agent.network.model.start([1] * 3, CPU)
    weights = packed.agent.weights()
    drift = sum((weights[name] - start[name]).square().flatten(1).sum(dim=1) for name in start)
    assert drift[0] > 1.01 * drift[1] > 1.1 * drift[2]


def test_the_reported_loss_is_without_the_penalty():
    """Losses are comparable across interventions; the first one knows no penalty anyway, so look at a later one."""
    plain = trained([run(1, **STREAM)], IMAGES).measured.of(0)["loss"]
    pulled = trained([run(1, intervention=(L2_INIT, {"strength": 100.0}), optimizer={"lr": 1e-9}, **STREAM)], IMAGES)
    still = trained([run(1, optimizer={"lr": 1e-9}, **STREAM)], IMAGES).measured.of(0)["loss"]
    np.testing.assert_allclose(pulled.measured.of(0)["loss"], still, rtol=1e-5)
    assert plain[-1] < still[-1]


BY_HAND = {
    # θ₀ = (1, −2, 3), θ = (4, 2, −1): away by (3, 4, −4). Sorted: (−2, 1, 3) and (−1, 2, 4), each away by 1.
    "the sum": ({}, 41.0, (6, 8, -8)),
    "the mean, as Chung et al.": ({"reduction": "mean"}, 41 / 3, (2, 8 / 3, -8 / 3)),
    "the length, as Plasticine": ({"power": 1}, 41**0.5, (3 / 41**0.5, 4 / 41**0.5, -4 / 41**0.5)),
    "half, as FIRE's port": ({"half": True}, 20.5, (3, 4, -4)),
    "sorted": ({"sorted": True}, 3.0, (2, 2, 2)),
    "sorted, the mean": ({"sorted": True, "reduction": "mean"}, 1.0, (2 / 3, 2 / 3, 2 / 3)),
    "sorted, the length": ({"sorted": True, "power": 1}, 3**0.5, (1 / 3**0.5, 1 / 3**0.5, 1 / 3**0.5)),
}


@pytest.mark.parametrize(("settings", "expected", "slopes"), BY_HAND.values(), ids=BY_HAND)
def test_each_reading_by_hand_on_three_weights_beside_padding(settings, expected, slopes):
    """One input and three units, stored with a fourth column of zeros. The other parameters stay as they are."""
    pack = [L2Init(1.0, **settings), L2Init(0.0, **settings)]
    model = classifier(MLP(width=3, depth=1), [build("activation", "relu", *choice("activation", "relu"))] * 2, (1,), 1)
    start = model.start([0, 1], CPU)
    name = "hidden1.weight"
    assert start[name].shape == (2, 1, 4)
    start[name][:, 0, :3] = torch.tensor([1.0, -2.0, 3.0])
    now = Now(model, start, on_run_axis(pack), {})
    now = now._replace(state=pack[0].start(now))
    moved = {**start, name: torch.tensor([4.0, 2.0, -1.0, 0.0]).expand(2, 1, 4).clone()}

    def penalty(values):
        return pack[0].penalty(now._replace(parameters=values))

    assert penalty(moved).tolist() == pytest.approx([expected, 0])
    by = torch.func.grad(lambda values: penalty(values).sum())(moved)
    torch.testing.assert_close(by[name][:, 0], torch.tensor([[*slopes, 0], [0, 0, 0, 0]], dtype=torch.float32))
    still = torch.func.grad(lambda values: penalty(values).sum())(start)
    assert not any(value.any() for value in still.values())


@pytest.mark.parametrize(
    "settings", [{"sorted": True}, {"power": 1}, {"sorted": True, "power": 1, "reduction": "mean"}]
)
def test_a_pack_of_different_strengths_has_each_runs_own_numbers(settings):
    """Width 13: the layers are stored with padding, which stays zero."""
    runs = [
        run(seed, network={"width": 13}, intervention=(L2_INIT, {"strength": strength, **settings}), **STREAM)
        for seed, strength in ((1, 0.1), (2, 0.0), (3, 0.01))
    ]
    packed = trained(runs, IMAGES).agent.weights()
    assert not packed["hidden1.weight"][..., 13:].any()
    for k, one in enumerate(runs):
        alone = trained([one], IMAGES).agent.weights()
        assert all(torch.equal(alone[name][0], value[k]) for name, value in packed.items())
