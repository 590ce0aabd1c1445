"""InFeR: its term by hand, and whole packs beside plain PyTorch, where the heads are a module of their own."""

import copy
from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy

from launch.command import resolve
from plasticity_lab.assembly import assembled, cost_of
from plasticity_lab.component import build
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.infer import BIRTH, InFeR
from plasticity_lab.interventions.now import Now
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.records.rows import Position
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU, choice, images, run

CLASS, SETTINGS = choice("intervention", "infer")
IMAGES = images(8, 200, 40)
STREAM = {"images": 200, "tasks": 1, "epochs": 4, "batch_size": 16}


@pytest.mark.parametrize(("mean", "expected"), [(False, 0.5), (True, 0.25)])
def test_two_heads_on_three_features_by_hand(mean, expected):
    """One input, ReLU. φ = (1, 2, 0), at birth (1, 1, 1); β 2, α 0.1.

    Head 1: 1 + 2 + 0 = 3, and its target 2 · (1 + 1 + ½) = 5: (−2)². Head 2: 0 + 1 = 1, and its target 2 · 1: (−1)².
    By head 1's weights: 2 α (−2) φ; by φ: 2 α ((−2) (1, 1, 1) + (−1) (0, 0, 1)).
    """
    infer = InFeR(strength=0.1, scale=2.0, heads=2, mean=mean)
    model = classifier(MLP(width=3), [build("activation", "relu", *choice("activation", "relu"))], (1,), 1)
    parameters = {name: torch.zeros_like(value) for name, value in model.start([0], CPU).items()}
    parameters["hidden1.weight"][0, 0, :3] = torch.tensor([1.0, 1.0, 1.0])
    parameters["hidden2.weight"][0, :, :3] = torch.eye(3)
    now = Now(model, parameters, on_run_axis([infer]), {}, seeds=[0])
    state = infer.start(now)
    for name in infer.learned:
        state[name].zero_()
        state[f"{BIRTH}{name}"].zero_()
    state[f"{BIRTH}heads.weight"][0, :, :2] = torch.tensor([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    state[f"{BIRTH}heads.bias"][0, 0, 0] = 0.5
    state["heads.weight"][0, :, :2] = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    state["heads.bias"][0, 0, 1] = 1.0
    parameters["hidden1.weight"][0, 0, :3] = torch.tensor([1.0, 2.0, 0.0])
    x = torch.tensor([[[1.0], [9.0], [9.0], [9.0]]])

    def forward(own, inputs):
        return model.forward(own, {}, inputs, None)

    def penalty(features, heads):
        hidden = {model.units[-1].name: features}
        seen = now._replace(
            state=state | {"heads.weight": heads}, x=x, hidden=hidden, forward=forward, weights=torch.eye(4)[0]
        )
        return infer.penalty(seen).sum()

    features, heads = forward(parameters, x)[1][model.units[-1].name], state["heads.weight"]
    value, (by_features, by_heads) = (
        penalty(features, heads),
        torch.func.grad(penalty, argnums=(0, 1))(features, heads),
    )
    assert float(value) == pytest.approx(expected)
    share = expected / 0.5
    torch.testing.assert_close(by_heads[0, :, 0], share * torch.tensor([-0.4, -0.8, 0.0]))
    torch.testing.assert_close(by_features[0, 0, :3], share * torch.tensor([-0.4, -0.4, -0.6]))
    assert not by_features[0, 1:].any()


def test_refused_beside_a_fresh_network_for_each_task_and_with_a_network_without_features():
    with pytest.raises(ConfigError, match="first network"):
        resolve(["intervention=[fresh_each_task,infer]"])
    model = classifier(MLP(width=3), [build("activation", "relu", *choice("activation", "relu"))], (1,), 1)
    model.units = [replace(unit, outgoing=()) for unit in model.units]
    with pytest.raises(ConfigError, match="outgoing"):
        InFeR().start(Now(model, model.start([0], CPU), {}, {}, seeds=[0]))


def plain(network, k: int):
    """Run k as plain modules: the layers, and InFeR's heads."""
    layers = []
    for layer in network.model.design.layers:
        weight, bias = (
            network.parameters[f"{layer.name}.{part}"][k][:, : layer.outputs] for part in ("weight", "bias")
        )
        layers.append(module(weight, bias[0]))
    heads = module(network.kept["heads.weight"][k][:, :3], network.kept["heads.bias"][k][0, :3])
    return torch.nn.ModuleList(layers), heads


def module(weight: torch.Tensor, bias: torch.Tensor) -> torch.nn.Linear:
    linear = torch.nn.Linear(*weight.shape)
    with torch.no_grad():
        linear.weight.copy_(weight.T)
        linear.bias.copy_(bias)
    return linear


def test_a_pack_of_three_strengths_takes_the_steps_of_plain_pytorch():
    """Fifty updates with Adam over network and heads; the numbers at birth are frozen copies."""
    own = [SETTINGS | {"strength": strength, "scale": 2.0, "heads": 3} for strength in (0.0, 0.05, 0.5)]
    runs = [run(seed, "tanh", intervention=(CLASS, each), **STREAM) for seed, each in enumerate(own)]
    stream, learner = assembled(runs, IMAGES, CPU, False)
    twins = [plain(learner.network, k) for k in range(3)]
    task = stream.task(0)
    learner.begin(task, fresh=True)
    chunks = list(task.chunks(Position(0, 0)))
    for chunk in chunks:
        learner.advance(chunk)
    assert sum(chunk.steps for chunk in chunks) == 52
    for k, (layers, heads) in enumerate(twins):
        born, born_heads = copy.deepcopy(layers), copy.deepcopy(heads)
        adam = torch.optim.Adam([*layers.parameters(), *heads.parameters()], lr=1e-3)
        for chunk in chunks:
            for step in range(chunk.steps):
                at = torch.from_numpy(chunk.images[k, step, : chunk.counts[step]].copy())[None].expand(3, -1)
                x, labels = (values[k] for values in learner._batch(at))
                phi, logits = features_and_logits(layers, x)
                with torch.no_grad():
                    target = 2.0 * born_heads(features_and_logits(born, x)[0])
                loss = cross_entropy(logits, labels) + own[k]["strength"] * ((heads(phi) - target) ** 2).sum(1).mean()
                adam.zero_grad()
                loss.backward()
                adam.step()
        after = learner.network.kept["heads.weight"][k][:, :3]
        torch.testing.assert_close(after, heads.weight.T, atol=2e-5, rtol=1e-4)
        ours = learner.network.parameters["hidden2.weight"][k][:, : layers[1].out_features]
        torch.testing.assert_close(ours, layers[1].weight.T, atol=2e-5, rtol=1e-4)
    assert torch.equal(learner.network.kept["heads.weight"][0], learner.network.kept[f"{BIRTH}heads.weight"][0])


def features_and_logits(layers, x):
    for layer in layers[:-1]:
        x = torch.tanh(layer(x))
    return x, layers[-1](x)


def test_size_and_weights_leave_the_heads_out_and_plans_price_the_second_pass():
    infer, without = run(0, intervention=(CLASS, SETTINGS), **STREAM), run(0, **STREAM)
    _, learner = assembled([infer], IMAGES, CPU, False)
    assert not [name for name in learner.weights() if "heads" in name]
    cost, plain_cost = (cost_of(each, IMAGES) for each in (infer, without))
    assert cost.parameters == plain_cost.parameters
    assert cost.flops > plain_cost.flops
    assert cost.device_bytes > plain_cost.device_bytes
