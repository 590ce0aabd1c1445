from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from plasticity_lab.assembly import assembled
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.randomness.device import run_keys, uniforms
from plasticity_lab.records.rows import Position
from tests.helpers.packs import CPU, choices, differing, images, needs_kernels, run, saved, trained

IMAGES = images(8, 189, 45)
TASK = {"images": 189, "epochs": 5}
"""60 steps, each twelfth of them with 13 images only."""
STILL = {"lr": 1e-30}
"""Steps that move nothing: what is measured is the initial network's."""


def plain_mlp(weights: dict[str, torch.Tensor], k: int) -> torch.nn.Sequential:
    """The network of run k as one writes it in PyTorch."""
    layers = []
    for name in ("hidden1", "hidden2", "output"):
        outputs = 10 if name == "output" else weights[f"{name}.weight"].shape[2]
        weight = weights[f"{name}.weight"][k, :, :outputs].T
        layer = torch.nn.Linear(*weight.T.shape)
        with torch.no_grad():
            layer.weight.copy_(weight)
            layer.bias.copy_(weights[f"{name}.bias"][k, 0, :outputs])
        layers += [layer, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def outputs(agent, shape, x, drawn) -> torch.Tensor:
    network = agent.network
    return network.model.forward(network.parameters, shape, x, drawn)[0]["logits"]


def tensors(image_set: ImageSet, split: str, index, order) -> torch.Tensor:
    rows = getattr(image_set, f"{split}_images").reshape(-1, 64)[index]
    return torch.from_numpy(rows if order is None else rows[:, order]).float() / 255


@pytest.mark.parametrize("benchmark", ["pixels", "labels"])
def test_a_run_is_the_plain_script_that_people_write(benchmark):
    """One run, nn.Linear, torch.optim.Adam, a loop: the same losses, accuracies and weights to float rounding."""
    lrs = {3: 1e-3, 8: 3e-3, 5: 1e-4}
    runs = [run(seed, benchmark=benchmark, optimizer={"lr": lr}, **TASK) for seed, lr in lrs.items()]
    packed = trained(runs, IMAGES)
    stream, fresh = assembled(runs, IMAGES, CPU, compiled=False)
    (task,) = stream.tasks(Position(0, 0))
    start, end = fresh.weights(), packed.agent.weights()
    for k, lr in enumerate(lrs.values()):
        lesson, measured = task.lessons[k], packed.measured.of(k)
        x = tensors(IMAGES, "train", lesson.images, lesson.pixels)
        y = torch.from_numpy(lesson.labels)
        network = plain_mlp(start, k)
        optimizer = torch.optim.Adam(network.parameters(), lr)
        for step in range(60):
            batch = slice(step % 12 * 16, step % 12 * 16 + 16)
            logits = network(x[batch])
            loss = cross_entropy(logits, y[batch])
            assert float(loss.detach()) == pytest.approx(measured["loss"][step], rel=3e-5)
            right = (logits.argmax(dim=1) == y[batch]).double().mean()
            assert float(right) == measured["accuracy"][step]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        for ours, plain in zip(plain_mlp(end, k)[::2], network[::2], strict=True):
            torch.testing.assert_close(ours.weight, plain.weight, rtol=1e-4, atol=2e-5)
            torch.testing.assert_close(ours.bias, plain.bias, rtol=1e-4, atol=2e-5)
        held_out = tensors(IMAGES, lesson.held_out_split, lesson.held_out, lesson.pixels)
        right = network(held_out).argmax(dim=1).numpy() == lesson.held_out_labels
        assert measured["final_accuracy"] == [right.mean()]
    assert packed.measured.of(0)["loss"][-12:].mean() < 0.99 * packed.measured.of(0)["loss"][:12].mean()


def test_measurements_are_of_the_network_before_the_update():
    """With steps that move nothing, every epoch measures the initial network; with real ones only the first step."""
    still = trained([run(1, optimizer=STILL, **TASK)], IMAGES).measured.of(0)
    moving = trained([run(1, **TASK)], IMAGES).measured.of(0)
    for name in ("loss", "accuracy"):
        assert np.array_equal(still[name][:12], still[name][12:24])
        assert moving[name][0] == still[name][0]
    assert (moving["loss"][1:12] != still["loss"][1:12]).all()


def test_training_draws_numbers_by_the_step_of_the_run_and_evaluation_draws_none():
    wide = {"lower": 0.0, "upper": 5.0}
    stream, agent = assembled(
        [run(s, "rrelu", wide, tasks=2, optimizer=STILL, **TASK) for s in (6, 4)], IMAGES, CPU, False
    )
    keys, shape = run_keys([6, 4], "activation"), agent.network.settings["activation"]
    for task in stream.tasks(Position(0, 0)):
        agent.begin(task, fresh=True)
        x_KND = torch.stack([tensors(IMAGES, "train", own.images, own.pixels) for own in task.lessons])
        for chunk in task.chunks(Position(0, 0)):
            losses = agent.advance(chunk).updates["loss"]
            for s in (0, chunk.steps - 2):
                drawn = uniforms(keys, torch.tensor(chunk.first + s), agent.network.model.draws(16))
                logits = outputs(agent, shape, x_KND[:, 16 * s : 16 * s + 16], drawn)
                for k, lesson in enumerate(task.lessons):
                    expected = cross_entropy(logits[k], torch.from_numpy(lesson.labels[16 * s : 16 * s + 16]))
                    assert losses[s, k] == pytest.approx(float(expected), rel=1e-5)
        x_KMD = torch.stack([tensors(IMAGES, "test", own.held_out, own.pixels) for own in task.lessons])
        logits = outputs(agent, shape, x_KMD, None).numpy()
        expected = [(logits[k].argmax(axis=1) == own.held_out_labels).mean() for k, own in enumerate(task.lessons)]
        assert agent.evaluate(task)["final_accuracy"].tolist() == expected


@pytest.mark.walk(6)
@pytest.mark.parametrize("there", [1, 3, 360, 500, 501, 1203, 10_000])
@pytest.mark.parametrize(
    ("benchmark", "kernels"), [("pixels", False), pytest.param("pixels", True, marks=needs_kernels), ("labels", False)]
)
def test_evaluation_uses_every_held_out_image_once(benchmark, kernels, there):
    """Against a plain loop over single images, however many there are."""
    image_set = images(4, max(there, 32), there)
    settings = {"images": there if benchmark == "labels" else 32, "batch_size": 1, "steps": 1, "epochs": None}
    stream, agent = assembled(
        [run(s, benchmark=benchmark, **settings) for s in (0, 1)], image_set, CPU, False, kernels=kernels
    )
    (task,) = stream.tasks(Position(0, 0))
    measured = agent.evaluate(task)["final_accuracy"]
    for k, lesson in enumerate(task.lessons):
        assert len(lesson.held_out) == there
        network = plain_mlp(agent.weights(), k)
        source = image_set.test_images if benchmark == "pixels" else image_set.train_images
        right = 0
        for image, label in zip(source[lesson.held_out].reshape(there, 16), lesson.held_out_labels, strict=True):
            shown = image if lesson.pixels is None else image[lesson.pixels]
            right += int(network(torch.from_numpy(shown).float() / 255).argmax()) == label
        assert measured[k] == right / there


def test_beginning_a_task_changes_nothing_that_is_saved():
    stream, agent = assembled([run(0, images=189)], IMAGES, CPU, compiled=False)
    before = saved(agent.state())
    for task in stream.tasks(Position(0, 0)):
        agent.begin(task, fresh=True)
    assert saved(agent.state()) == before


@pytest.mark.parametrize("name", choices("optimizer"))
def test_a_task_begins_with_fresh_moments_where_that_is_asked_for(name):
    optimizer = {"name": name, "reset": "task"} | ({"momentum": 0.9} if name in ("sgd", "trac_sgd") else {})
    stream, agent = assembled([run(0, optimizer=optimizer, tasks=2, images=189)], IMAGES, CPU, compiled=False)
    first = next(stream.tasks(Position(0, 0)))
    agent.begin(first, fresh=True)
    (chunk,) = first.chunks(Position(0, 0))
    agent.advance(chunk)
    learned = [value for values in agent.network.moments.values() for value in values.values()]
    assert any(value.any() for value in learned)
    agent.end(first)
    assert not any(value.any() for values in agent.network.moments.values() for value in values.values())


@pytest.mark.parametrize("reset", ["never", "task"])
def test_moments_outlive_a_task_unless_reset(reset):
    stream, agent = assembled([run(0, optimizer={"reset": reset}, tasks=2, images=189)], IMAGES, CPU, compiled=False)
    first, second = stream.tasks(Position(0, 0))
    agent.begin(first, fresh=True)
    (chunk,) = first.chunks(Position(0, 0))
    agent.advance(chunk)
    agent.end(first)
    kept = any(value.any() for values in agent.network.moments.values() for value in values.values())
    assert (kept, agent.state()["updates"]) == ((False, 0) if reset == "task" else (True, 12))
    # Adam's first step is the learning rate times the gradient's sign.
    before = agent.weights()["output.bias"][..., :10].clone()
    agent.begin(second, fresh=True)
    (chunk,) = second.chunks(Position(1, 11))
    agent.advance(chunk)
    moved = (agent.weights()["output.bias"][..., :10] - before).abs()
    assert torch.allclose(moved, torch.tensor(1e-3), rtol=1e-3) is (reset == "task")


def test_a_run_that_diverges_leaves_its_mates_alone():
    calm = {"tasks": 2, "images": 189}
    wild = run(9, optimizer={"lr": 1e30}, **calm)
    packed = trained([wild, run(1, **calm), wild, run(2, **calm)], IMAGES)
    assert not np.isfinite(packed.measured.of(0)["loss"]).all()
    for place, seed in ((1, 1), (3, 2)):
        assert not differing(packed.of(place), trained([run(seed, **calm)], IMAGES).of(0))


def test_stream_and_init_seeds_can_be_set_apart():
    def of(**seeds):
        one = run(1, images=189)
        one = replace(one, science={**one.science, **seeds})
        stream, agent = assembled([one], IMAGES, CPU, compiled=False)
        (task,) = stream.tasks(Position(0, 0))
        return task.lessons[0].pixels.tobytes(), agent.weights()["hidden1.weight"].numpy().tobytes()

    plain = of()
    assert of(stream_seed=1, init_seed=1) == of(stream_seed=None, init_seed=None) == plain
    other_stream, other_start = of(stream_seed=0), of(init_seed=0)
    assert (other_stream[0] != plain[0], other_stream[1] == plain[1]) == (True, True)
    assert (other_start[0] == plain[0], other_start[1] != plain[1]) == (True, True)
