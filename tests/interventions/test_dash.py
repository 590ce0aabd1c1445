"""DASH: its arithmetic by hand, the data it reads, and that a run killed within its pass goes on as if undisturbed."""

import pytest
import torch

from plasticity_lab.assembly import assembled, cost_of
from plasticity_lab.component import build
from plasticity_lab.interventions.dash import DASH
from plasticity_lab.interventions.now import Now
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU, choice, differing, images, run, trained

CLASS, SETTINGS = choice("intervention", "dash")
IMAGES = images(8, 200, 90)
STREAM = {"images": 61, "tasks": 3, "epochs": 1}


class Batches:
    """Coming data with made-up gradients, name → a list over batches."""

    def __init__(self, gradients: dict[str, list[torch.Tensor]]) -> None:
        self.of = gradients

    def gradients(self, parameters, batch, most=None):
        """One dictionary after another."""
        for at in range(len(next(iter(self.of.values())))):
            yield {name: values[at] for name, values in self.of.items()}


def test_two_batches_by_hand():
    """Two inputs, three hidden units, one class; α ½, λ 0.1. Only hidden1's weights and biases have a gradient.

    G after two batches is −(¼ g₁ + ½ g₂). Unit 1: w = (3, 4), G = (3, 4) · ½, cosine 1. Unit 2: w = (1, 0), G = (0, 2),
    cosine 0, so λ. Unit 3: w = (1, 1), G = (1, 0), cosine 1/√2. Biases (1, 0, 0) and G = (1, 1, 0): 1/√2.
    """
    model = classifier(MLP(width=3), [build("activation", "relu", *choice("activation", "relu"))], (2,), 1)
    parameters = {name: torch.zeros_like(value) for name, value in model.start([0], CPU).items()}
    weight = parameters["hidden1.weight"]
    weight[0, :, :3] = torch.tensor([[3.0, 1.0, 1.0], [4.0, 0.0, 1.0]])
    parameters["hidden1.bias"][0, 0, 0] = 1.0
    gradients = {name: [torch.zeros_like(value)] * 2 for name, value in parameters.items()}
    first, second = torch.zeros_like(weight), torch.zeros_like(weight)
    first[0, :, :3] = torch.tensor([[-6.0, 0.0, -4.0], [-8.0, -4.0, 0.0]])
    second[0, :, :3] = torch.tensor([[0.0, 0.0, 0.0], [0.0, -2.0, 0.0]])
    bias = torch.zeros_like(parameters["hidden1.bias"])
    bias[0, 0, :2] = -2.0
    gradients |= {"hidden1.weight": [first, second], "hidden1.bias": [torch.zeros_like(bias), bias]}
    dash = DASH(strength=0.9, alpha=0.5)
    dash.before_task(Now(model, parameters, on_run_axis([dash]), {}, coming=Batches(gradients)))
    root = 2**-0.5
    torch.testing.assert_close(weight[0, :, :3], torch.tensor([[3.0, 0.1, root], [4.0, 0.0, root]]))
    torch.testing.assert_close(parameters["hidden1.bias"][0, 0, :3], torch.tensor([root, 0.0, 0.0]))


def test_each_kernel_of_a_convolution_has_its_cosine():
    """Two input channels, one output channel: the first kernel agrees with G, the second is opposite to it."""
    how = {"name": "cnn", "kernel": 3, "padding": "same", "channels": 4, "width": 8}
    _, learner = assembled([run(0, network=how, **STREAM)], IMAGES, CPU, False)
    network = learner.network
    layer = network.model.design.layer("conv2")
    before = {name: value.clone() for name, value in network.parameters.items()}
    gradients = {name: [-value.clone()] for name, value in network.parameters.items()}
    gradients["conv2.weight"][0][:, 9:18] *= -1  # the second input channel of every output channel
    dash = DASH(strength=0.8, alpha=1.0)
    dash.before_task(Now(network.model, network.parameters, on_run_axis([dash]), {}, coming=Batches(gradients)))
    factor = torch.ones_like(before["conv2.weight"])
    factor[:, 9:18] = 0.2
    assert layer.image[0] == 4
    torch.testing.assert_close(network.parameters["conv2.weight"], before["conv2.weight"] * factor)
    torch.testing.assert_close(network.parameters["conv1.bias"], before["conv1.bias"])


@pytest.mark.parametrize("agent", ["supervised", "experience_replay"])
def test_the_gradients_are_those_of_the_new_images_in_the_order_of_the_runs_stream_seed(agent):
    how = STREAM
    if agent != "supervised":
        replays = agent, choice("agent", agent)[0], {"memory": 30, "per_task": 12, "replayed": 6}
        of_classes = {"tasks": 2, "epochs": 1, "classes_per_task": 2, "images_per_class": 4}
        how = {"benchmark": "split_digits", "agent": replays, "normalise": "raw", "batch_size": 4, **of_classes}
    stream, learner = assembled([run(seed, "tanh", **how) for seed in (3, 5)], IMAGES, CPU, False)
    task = stream.task(1)
    learner.begin(task, fresh=False)
    network, seen = learner.network, []
    for at, gradients in enumerate(learner._coming(task).gradients(network.parameters, 5, 8)):
        seen.append(gradients)
        for k, seed in enumerate((3, 5)):
            lesson = task.lessons[k]
            chosen = host_stream(seed, "coming", 1).permutation(len(lesson.images))[:8][5 * at : 5 * at + 5]
            x = torch.from_numpy(IMAGES.train_images[lesson.images[chosen]].reshape(len(chosen), -1))
            x = x if lesson.pixels is None else x[:, lesson.pixels]
            labels = IMAGES.train_labels[lesson.images] if lesson.labels is None else lesson.labels
            expected = plain_gradients(network, k, learner.pixels.scaled(x), torch.from_numpy(labels[chosen]))
            for name, value in expected.items():
                torch.testing.assert_close(gradients[name][k], value, atol=1e-6, rtol=1e-5)
    assert len(seen) == 2


def plain_gradients(network, run_number, x, labels):
    """The gradients of one run's mean cross-entropy by autograd, over the layers of a tanh MLP written out."""
    own = {name: value[run_number].clone().requires_grad_() for name, value in network.parameters.items()}
    for layer in ("hidden1", "hidden2"):
        x = torch.tanh(x @ own[f"{layer}.weight"] + own[f"{layer}.bias"])
    logits = (x @ own["output.weight"] + own["output.bias"])[:, : network.model.design.layer("output").outputs]
    torch.nn.functional.cross_entropy(logits, labels).backward()
    return {name: value.grad for name, value in own.items()}


def test_without_strength_it_is_the_plain_run():
    plain = trained([run(0, "prelu", **STREAM)], IMAGES)
    dashed = trained([run(0, "prelu", intervention=(CLASS, SETTINGS | {"strength": 0.0}), **STREAM)], IMAGES)
    assert not differing(plain.of(0), dashed.of(0))


def test_a_run_killed_within_its_pass_goes_on_as_if_undisturbed(monkeypatch):
    """The pass is made again from the checkpoint before it; a run of another strength is in the same pack."""
    runs = [run(seed, intervention=(CLASS, SETTINGS | {"strength": 0.9 - seed / 10}), **STREAM) for seed in (0, 1)]
    whole = trained(runs, IMAGES)
    stream, learner = assembled(runs, IMAGES, CPU, False)
    task, killed = stream.task(1), learner
    state = {key: value for key, value in learner.state().items()}
    coming = learner._coming

    class Killed(Exception):
        pass

    def broken(task):
        class Broken:
            def gradients(self, *arguments):
                yield next(coming(task).gradients(*arguments))
                raise Killed

        return Broken()

    monkeypatch.setattr(killed, "_coming", broken)
    before = {name: value.clone() for name, value in killed.network.parameters.items()}
    with pytest.raises(Killed):
        killed.begin(task, fresh=True)
    assert all(torch.equal(before[name], value) for name, value in killed.network.parameters.items())
    assert state.keys() == killed.state().keys()
    resumed = trained(runs, IMAGES, stops=[1, 2])
    assert not any(differing(whole.of(k), resumed.of(k)) for k in (0, 1))


def test_plans_price_the_passes():
    """61 examples in batches of 32 before two of three tasks: four passes."""
    dashed = run(0, intervention=(CLASS, SETTINGS | {"batch": 32}), **STREAM)
    cost, plain = (cost_of(each, IMAGES) for each in (dashed, run(0, **STREAM)))
    assert (cost.passes, plain.passes) == (4, 0)
    assert cost.pass_flops > 0
    assert cost.device_bytes > plain.device_bytes
