"""Batch normalisation: PyTorch's numbers, and running statistics that only an update's batch moves."""

import numpy as np
import pytest
import torch
from torch import nn

from launch.command import resolve
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.assembly import assembled
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.fresh_each_task import FreshEachTask
from plasticity_lab.interventions.infer import InFeR
from plasticity_lab.interventions.now import Now
from plasticity_lab.interventions.plasticity_injection import PlasticityInjection
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.others import Others
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.records.rows import Position
from plasticity_lab.stacking.batch_normed import Learning, StackedBatchNormed
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.linear import StackedLinear
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU, NO_INTERVENTION, differing, images, needs_compiler, needs_kernels, run, trained

IMAGES = images(8, 41, 20)
STREAM = {"images": 41, "batch_size": 13, "tasks": 2, "network": {"width": 13, "norm": "batch"}}
"""In each epoch the last batch has two examples."""


def drawn(name: str, *shape: int) -> torch.Tensor:
    return torch.from_numpy(host_stream(0, name).normal(size=shape))


@pytest.mark.parametrize("kind", ["linear", "conv"])
def test_three_batches_and_an_evaluation_are_pytorchs(kind):
    """Two runs of 5 units; 6 examples, and two rows of padding with weight 0. In float64, except for n / (n − 1)."""
    inner = StackedLinear("own", 12, 5) if kind == "linear" else StackedConv2d("own", (2, 6, 5), 5, 3, "valid")
    layer = StackedBatchNormed("own", inner)
    runs = [layer.start(host_stream(0, "start", run), "default", 1.0) | layer.first_statistics() for run in range(2)]
    parameters = {name: torch.from_numpy(np.stack([of[name] for of in runs]).astype(float)) for name in runs[0]}
    parameters["own.scale"] += drawn("scale", 2, 1, 5)
    parameters["own.shift"] += drawn("shift", 2, 1, 5)
    theirs = [(nn.BatchNorm1d if kind == "linear" else nn.BatchNorm2d)(5, dtype=torch.float64) for _ in range(2)]
    for run_of, norm in enumerate(theirs):
        norm.load_state_dict({"weight": parameters["own.scale"][run_of, 0], "bias": parameters["own.shift"][run_of, 0]},
                             strict=False)  # fmt: skip
    weights = torch.tensor([1 / 6] * 6 + [0.0] * 2, dtype=torch.float64)
    image = (12,) if kind == "linear" else (2, 6, 5)
    for batch in range(3):
        x, towards = 3 + 2 * drawn(f"x {batch}", 2, 8, *image), drawn(f"towards {batch}", 2, 6, *layer.produced)
        own = {name: value.clone().requires_grad_() for name, value in parameters.items()}
        learning, given = Learning(weights), x.clone().requires_grad_()
        ours = replaced(layer, learning)(own, given)[:, :6]
        (ours * towards).sum().backward()
        for run_of, norm in enumerate(theirs):
            norm.zero_grad()
            alone = x[run_of : run_of + 1, :6].clone().requires_grad_()
            one = {name: value[run_of : run_of + 1] for name, value in parameters.items()}
            expected = norm(inner(one, alone)[0])
            (expected * towards[run_of]).sum().backward()
            close(ours[run_of], expected)
            close(given.grad[run_of, :6], alone.grad[0])
            close(own["own.scale"].grad[run_of, 0], norm.weight.grad)
            close(own["own.shift"].grad[run_of, 0], norm.bias.grad)
            close(learning.after["own.mean"][run_of, 0], norm.running_mean)
            close(learning.after["own.variance"][run_of, 0], norm.running_var)
        parameters |= learning.after
    x = drawn("evaluation", 2, 4, *image)
    for run_of, norm in enumerate(theirs):
        norm.eval()
        one = {name: value[run_of : run_of + 1] for name, value in parameters.items()}
        close(layer(parameters, x)[run_of], norm(inner(one, x[run_of : run_of + 1])[0]))


def close(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-7)


def replaced(layer: StackedBatchNormed, learning: Learning) -> StackedBatchNormed:
    return StackedBatchNormed(layer.name, layer.layer, learning)


def test_a_batch_of_one_value_leaves_them():
    layer = StackedBatchNormed("own", StackedLinear("own", 12, 5))
    parameters = {name: torch.from_numpy(value)[None] for name, value in layer.first_statistics().items()}
    learning = Learning(torch.tensor([1.0, 0, 0, 0]))
    assert replaced(layer, learning).rows(parameters, drawn("h", 1, 4, 5).float())[0, 0].abs().max() < 1e-6
    assert all(torch.equal(learning.after[name], value) for name, value in parameters.items())


def pack() -> list:
    """Runs that differ in seed, rate and slope."""
    return [run(seed, "leaky_relu", {"negative_slope": 0.1 * seed}, optimizer={"lr": 10.0 ** (-2 - seed)}, **STREAM)
            for seed in range(3)]  # fmt: skip


@pytest.mark.parametrize(
    "how",
    [
        {},
        pytest.param({"compiled": True}, marks=[pytest.mark.slow, needs_compiler]),
        pytest.param({"compiled": True, "kernels": True}, marks=[pytest.mark.slow, needs_kernels]),
    ],
    ids=["eager", "compiled", "kernels"],
)
def test_a_run_is_the_same_alone_packed_and_resumed(how):
    packed = trained(pack(), IMAGES, stops=(3,), **how)
    assert not differing(packed.of(1), trained(pack()[1:2], IMAGES, **how).of(0))
    assert (packed.agent.weights()["hidden2.variance"] != 1).all()


def test_no_evaluation_look_or_pass_over_coming_data_moves_them():
    stream, agent = assembled(pack(), IMAGES, CPU, False)
    task = stream.task(0)
    agent.begin(task, fresh=True)
    agent.advance(next(iter(task.chunks(Position(0, 0)))))
    names = ("hidden1.mean", "hidden1.variance", "hidden2.mean", "hidden2.variance")
    before = {name: agent.network.parameters[name].clone() for name in names}
    assert set(agent.network.frozen) == set(names), "no moment, penalty or decay sees them"
    assert all((before[name] != float("variance" in name)).all() for name in names)
    agent.evaluate(task)
    agent.view(task).loss()
    list(agent._coming(task).gradients(agent.network.learned, 8))
    assert all(torch.equal(agent.network.parameters[name], before[name]) for name in names)


def test_a_copy_of_the_network_includes_them():
    """With strength 0 the tortoise is the hare, also in tests and after returns."""
    tortoise = "plasticity_lab.interventions.hare_tortoise.HareTortoise", {"strength": 0.0, "every": 3}
    plain, averaged = ([run(1, intervention=own, **STREAM)] for own in (NO_INTERVENTION, tortoise))
    assert not differing(trained(plain, IMAGES).of(0), trained(averaged, IMAGES).of(0))


def test_the_network_at_birth_has_its_statistics_at_birth_and_a_fresh_network_fresh_ones():
    model = classifier(MLP(width=5, norm="batch"), [ReLU()] * 2, (1, 1, 3), 2)
    parameters = model.start([0, 1], CPU)
    now = Now(model, model.learned(parameters), {}, {}, seeds=[0, 1], frozen=model.frozen(parameters), task=1)
    state = InFeR().start(now)
    for name in model.statistics:
        parameters[name].add_(1)
        assert torch.equal(state[f"birth {name}"], parameters[name] - 1)
    FreshEachTask().before_task(now)
    assert all(torch.equal(parameters[name], value) for name, value in model.start([0, 1], CPU, 1).items())


def test_agents_without_batches_of_two_or_more_and_injections_are_refused_in_a_sentence():
    refused = pytest.raises(ConfigError, match=r"choose network\.norm=layer")
    with refused:
        resolve(["agent=dqn", "benchmark=catch", "network=small_nature", "network.norm=batch"])
    with refused:
        assembled([run(0, **STREAM | {"batch_size": 1})], IMAGES, CPU, False)
    others = Others({"network": {"mlp": MLP(norm="batch")}})
    assert "choose network.norm=layer" in PlasticityInjection().objection(others)
