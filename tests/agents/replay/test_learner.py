"""The learner of groups of classes against the script that people write, and against itself."""

from collections import Counter

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from plasticity_lab.agents.replay.learner import drawn
from plasticity_lab.assembly import assembled
from plasticity_lab.benchmarks.labelled import stream as streams
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.records.rows import Position
from tests.helpers.packs import CPU, choice, differing, images, needs_compiler, run, saved, trained

IMAGES = images(4, 400, 90, classes=8)
REPLAYS = {"memory": 30, "per_task": 12, "replayed": 6}
TASKS, EPOCHS, BATCH, SHOWN = 4, 3, 16, 60
"""Four tasks of two classes and 60 images: three epochs of four steps, the last of twelve images."""
L2_INIT = "plasticity_lab.interventions.l2_init.L2Init", {"strength": 0.01}


def of(seed: int = 0, agent: str = "experience_replay", benchmark: str = "split_digits", **settings):
    """A short run; settings: of the benchmark, or other arguments of `run`, or the agent's under `own`."""
    own = settings.pop("own", REPLAYS if agent == "experience_replay" else {})
    if benchmark == "split_digits_joint":
        settings = {"groups": TASKS} | settings
    short = {"tasks": TASKS, "epochs": EPOCHS, "classes_per_task": 2, "images_per_class": 30, "batch_size": BATCH}
    return run(
        seed,
        benchmark=benchmark,
        agent=(agent, choice("agent", agent)[0], own),
        **{"normalise": "raw", **short, **settings},
    )


def plain(weights: dict[str, torch.Tensor], k: int) -> torch.nn.Sequential:
    """The network of run k as one writes it in PyTorch."""
    layers = []
    for name in ("hidden1", "hidden2", "output"):
        outputs = 8 if name == "output" else weights[f"{name}.weight"].shape[2]
        layer = torch.nn.Linear(weights[f"{name}.weight"].shape[1], outputs)
        with torch.no_grad():
            layer.weight.copy_(weights[f"{name}.weight"][k, :, :outputs].T)
            layer.bias.copy_(weights[f"{name}.bias"][k, 0, :outputs])
        layers += [layer, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def x(where) -> torch.Tensor:
    return torch.from_numpy(IMAGES.train_images.reshape(-1, 16)[where]).float() / 255


def test_a_run_is_the_plain_script_that_people_write():
    """One run, torch.optim.Adam, lists of remembered images: the same losses, accuracies and weights to rounding."""
    seeds = (3, 8)
    packed = trained([of(seed) for seed in seeds], IMAGES)
    stream, fresh = assembled([of(seed) for seed in seeds], IMAGES, CPU, compiled=False)
    for k, seed in enumerate(seeds):
        measured, network, memory, step = packed.measured.of(k), plain(fresh.weights(), k), [], 0
        optimizer = torch.optim.Adam(network.parameters(), 1e-3)
        for position in range(TASKS):
            task = stream.task(position)
            lesson = task.lessons[k]
            held = [image for of_task in memory for image in of_task]
            assert packed.agent.own_seeds[k] == seed
            for epoch in range(EPOCHS):
                order = task.benchmark.order_of(lesson.labels, seed, position, epoch)
                replays = drawn(len(held), 6, 4, host_stream(seed, "replay", EPOCHS * position + epoch))
                for batch in range(4):
                    new = lesson.images[order[batch * BATCH : batch * BATCH + BATCH]]
                    old = np.array([held[place] for place in replays[batch]], np.int64)
                    both = np.concatenate([new, old])
                    labels = torch.from_numpy(IMAGES.train_labels[both])
                    logits = network(x(both))
                    loss = cross_entropy(logits, labels)
                    assert float(loss.detach()) == pytest.approx(measured["loss"][step], rel=3e-5)
                    right = (logits.argmax(dim=1) == labels)[: len(new)].double().mean()
                    assert float(right) == measured["accuracy"][step]
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    step += 1
            held_out = torch.from_numpy(IMAGES.test_images.reshape(-1, 16)[lesson.held_out]).float() / 255
            logits, labels = network(held_out), torch.from_numpy(lesson.held_out_labels)
            assert measured["final_accuracy"][position] == (logits.argmax(dim=1) == labels).double().mean()
            own = sorted(set(lesson.labels))
            among = torch.tensor(own)[logits[:, own].argmax(dim=1)]
            assert measured["masked_accuracy"][position] == (among == labels).double().mean()
            drawn_order = host_stream(seed, "memory", position).permutation(SHOWN)
            memory.append(list(lesson.images[drawn_order][:12]))
            while sum(map(len, memory)) > 30:
                max(reversed(memory), key=len).pop()
        for ours, theirs in zip(plain(packed.agent.weights(), k)[::2], network[::2], strict=True):
            torch.testing.assert_close(ours.weight, theirs.weight, rtol=1e-4, atol=3e-5)


@pytest.mark.sample(3)
def test_without_a_memory_it_is_the_supervised_agent():
    for benchmark in ("split_digits", "split_digits_joint"):
        own, other = (
            trained([of(seed, agent, benchmark) for seed in (0, 2)], IMAGES) for agent in ("no_replay", "supervised")
        )
        for k in range(2):
            numbers = own.of(k)
            numbers.pop("masked_accuracy")
            assert not differing(numbers, other.of(k))


@pytest.mark.sample(3)
@pytest.mark.parametrize("network", [{"name": "mlp"}, {"name": "cnn_case_study", "channels": 4, "width": 12}])
@pytest.mark.parametrize(
    ("agent", "benchmark"), [("experience_replay", "split_digits"), ("no_replay", "split_digits_joint")]
)
def test_a_run_is_the_same_alone_packed_resumed_within_a_task_and_cut_otherwise(network, agent, benchmark, monkeypatch):
    same = {"activation": "rrelu", "network": network, "intervention": L2_INIT, "tasks": 3}
    alone = trained([of(1, agent, benchmark, **same)], IMAGES).of(0)
    packed = trained([of(seed, agent, benchmark, **same) for seed in (5, 1, 0)], IMAGES)
    assert not differing(alone, packed.of(1))
    assert differing(alone, packed.of(0))
    monkeypatch.setattr(streams, "CHUNK_STEPS", 3)  # an epoch has four steps
    # In the middle of an epoch of the first task; of the second, with a memory; between its end and its evaluation.
    resumed = trained([of(seed, agent, benchmark, **same) for seed in (1, 9)], IMAGES, stops=(1, 7, 4))
    assert resumed.measured.chunks[0] == (0, 3)
    assert not differing(alone, resumed.of(0))


@pytest.mark.slow
@needs_compiler
def test_so_is_a_compiled_one():
    runs = {seed: of(seed, activation="rand_smooth_leaky") for seed in (7, 4, 1, 0, 2)}
    alone = trained([runs[1]], IMAGES, compiled=True).of(0)
    packed = trained([*runs.values()], IMAGES, compiled=True, stops=(5,))
    assert not differing(alone, packed.of(2))


def test_the_memory_of_a_pack_keeps_its_bounds_and_is_each_runs_own():
    stream, learner = assembled([of(seed) for seed in (0, 1)], IMAGES, CPU, compiled=False)
    assert learner.bulk() == {}
    for task in stream.tasks(Position(0, 0)):
        learner.begin(task, fresh=True)
        earlier = [stream.task(position) for position in range(task.position)]
        for k, held in enumerate(learner.memory_KM):
            where = {image: each.position for each in earlier for image in each.lessons[k].images}
            counts = Counter(where[image] for image in held)  # of earlier tasks alone
            assert len(set(held)) == len(held) == min(30, 12 * task.position)
            assert max(counts.values(), default=0) <= 12
        assert not task.position or set(learner.memory_KM[0]) != set(learner.memory_KM[1])
        for chunk in task.chunks(Position(0, 0)):
            learner.advance(chunk)
        learner.end(task)


@pytest.mark.sample(3)
def test_evaluating_any_task_at_any_time_changes_nothing():
    runs = [of(seed, activation="rrelu") for seed in (0, 1)]
    undisturbed = trained(runs, IMAGES)
    stream, learner = assembled(runs, IMAGES, CPU, compiled=False)
    before = [learner.evaluate(stream.task(position)) for position in (3, 0)]
    losses = []
    for task in stream.tasks(Position(0, 0)):
        learner.begin(task, fresh=True)
        for chunk in task.chunks(Position(0, 0)):
            losses.append(learner.advance(chunk).updates["loss"])
            state = saved(learner.state())
            for position in (2, 0, 3):
                learner.evaluate(stream.task(position))
            assert saved(learner.state()) == state
        learner.end(task)
    assert np.array_equal(np.concatenate(losses), np.concatenate(undisturbed.measured.rows["loss"]))
    after = [learner.evaluate(stream.task(position)) for position in (3, 0)]
    for one, other in zip(before, after, strict=True):
        assert (one["masked_accuracy"] <= other["masked_accuracy"] + 0.2).all()
        assert (other["final_accuracy"] <= other["masked_accuracy"]).all()
        assert not np.array_equal(one["final_accuracy"], other["final_accuracy"])


def test_what_an_intervention_is_shown_is_the_tasks_own_images():
    stream, learner = assembled([of(seed) for seed in (0, 1)], IMAGES, CPU, compiled=False)
    task = stream.task(2)
    learner.begin(task, fresh=True)
    seen = [torch.cat(parts, dim=1) for parts in zip(*learner._seen(1000), strict=True)]
    for k, lesson in enumerate(task.lessons):
        assert torch.equal(seen[0][k], x(lesson.images))
        assert seen[1][k].tolist() == lesson.labels.tolist()
