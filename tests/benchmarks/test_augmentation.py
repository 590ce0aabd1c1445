"""Augmentation by separate code, clipped gradients, and both in packs."""

import numpy as np
import pytest
import torch

from launch.command import resolve
from plasticity_lab.agents.supervised.images import Pixels
from plasticity_lab.assembly import assembled
from plasticity_lab.benchmarks.labelled.augmentation import Augmentation
from plasticity_lab.benchmarks.labelled.random_labels import RandomLabels
from plasticity_lab.errors import ConfigError
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.optimizer import norms
from tests.helpers.packs import CPU, SUPERVISED, choice, differing, images, needs_kernels, run, trained

LENGTH = {"source": "made_up", "images": 30, "tasks": 2, "epochs": 2, "steps": None, "batch_size": 7}
IMAGES = images(8, 300, 120, classes=12)
COLOURED = images(5, 30, 12, channels=3)


@pytest.mark.parametrize(("kind", "count"), [("crop", 25), ("flip", 2), ("crop_flip", 50)])
@pytest.mark.parametrize("channels_last", [False, True])
def test_each_move_is_a_window_of_the_framed_image_and_mirrored_the_same(kind, count, channels_last):
    augmentation = Augmentation(kind, 2)
    pixels = Pixels(COLOURED, "raw", CPU, channels_last, augmentation)
    images = COLOURED.train_images[:3]
    stored = torch.from_numpy(pixels.as_they_lie(images.reshape(1, 3, -1)))
    assert augmentation.moves == count
    for move in range(count):
        found = pixels.scaled(pixels.moved(stored, torch.full((1, 3), move)))[0].reshape(images.shape).numpy()
        framed = np.pad(images, ((0, 0), (0, 0), (2, 2), (2, 2))) if "crop" in kind else images
        top, left = divmod(move % 25, 5) if "crop" in kind else (0, 0)
        expected = framed[:, :, top : top + 5, left : left + 5]
        mirrored = "flip" in kind and move >= count // 2
        expected = expected[..., ::-1] if mirrored else expected
        assert np.array_equal(found, expected.astype(np.float32) / np.float32(255))


def a_run(seed: int, name: str = "labels", **settings):
    _, target, own = ("", *choice("agent", "experience_replay")) if name == "split_digits" else SUPERVISED
    settings = {"classes_per_task": 2, "images_per_class": 14, **settings} if name == "split_digits" else settings
    length = {key: value for key, value in LENGTH.items() if key != "images" or name == "labels"}
    agent = "agent", target, own | {"max_norm": settings.pop("max_norm", None)}
    optimizer = settings.pop("optimizer", {})
    return run(seed, benchmark=name, network={"width": 9}, agent=agent, optimizer=optimizer, **length | settings)


def test_the_first_loss_is_that_of_the_images_that_were_drawn():
    settings = {"augment": "crop_flip", "crop_margin": 1, "order": "shuffle"}
    _, agent = assembled([a_run(3, **settings)], IMAGES, CPU, False)
    weights = {name: value[0].double().numpy() for name, value in agent.weights().items()}
    benchmark = RandomLabels(**LENGTH, **settings)
    lesson = benchmark.lesson(IMAGES, 3, 0)
    chosen = benchmark.order_of(lesson.labels, 3, 0, 0)[:7]
    moves = host_stream(3, "augment", 0).integers(18, size=(5, 8))[0, :7]
    x = np.zeros((7, 64))
    for row, (at, move) in enumerate(zip(chosen, moves, strict=True)):
        top, left = divmod(move % 9, 3)
        window = np.pad(IMAGES.train_images[lesson.images[at], 0], 1)[top : top + 8, left : left + 8]
        x[row] = (window[:, ::-1] if move >= 9 else window).ravel() / 255
    for layer in ("hidden1", "hidden2", "output"):
        weight, bias = weights[f"{layer}.weight"], weights[f"{layer}.bias"]
        x = x[:, : len(weight)] @ weight + bias
        x = x[:, :12] if layer == "output" else np.maximum(x, 0)
    expected = (np.log(np.exp(x).sum(axis=1)) - x[np.arange(7), lesson.labels[chosen]]).mean()
    whole = trained([a_run(3, **settings)], IMAGES).of(0)
    assert whole["loss"][0] == pytest.approx(expected, rel=1e-5)


def test_a_step_is_as_long_as_the_largest_norm_allows():
    """SGD of one step moves by lr · gradient; a limit of half its norm halves every entry, twice its norm none."""
    one = {"steps": 1, "tasks": 1, "epochs": None, "optimizer": {"name": "sgd", "lr": 0.5}}
    start = assembled([a_run(3, **one)], IMAGES, CPU, False)[1].weights()
    after = trained([a_run(3, **one)], IMAGES).agent.weights()
    moved = {name: after[name] - start[name] for name in start}
    norm = float(norms(moved)) / 0.5
    for limit, share in ((norm / 2, 0.5), (2 * norm, 1.0)):
        clipped = trained([a_run(3, **one, max_norm=limit)], IMAGES).agent.weights()
        for name, move in moved.items():
            torch.testing.assert_close(clipped[name] - start[name], share * move, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("name", ["labels", "split_digits"])
def test_a_run_is_the_same_alone_packed_and_killed(name):
    settings = {"augment": "crop_flip", "crop_margin": 1, "max_norm": 0.5}
    if name == "labels":
        settings |= {"transition_steps": 4}
    alone = trained([a_run(1, name, **settings)], IMAGES).of(0)
    packed = trained([a_run(seed, name, **settings) for seed in (4, 1)], IMAGES, stops=(1, 2))
    assert not differing(alone, packed.of(1))
    assert differing(alone, trained([a_run(1, name)], IMAGES).of(0))


@needs_kernels
@pytest.mark.slow
def test_by_kernels_a_run_on_images_with_channels_is_the_same_alone_packed_and_killed():
    """The kernels read images with the channels of a pixel side by side."""
    coloured = images(8, 60, 20, channels=3)

    def one(seed: int):
        network = {"name": "cnn", "kernel": 3, "padding": "same", "channels": 5, "width": 13}
        agent = *SUPERVISED[:2], {"max_norm": 0.5}
        settings = {"augment": "crop_flip", "crop_margin": 2, **LENGTH}
        return run(seed, benchmark="labels", network=network, agent=agent, **settings)

    alone = trained([one(1)], coloured, compiled=True, kernels=True).of(0)
    packed = trained([one(seed) for seed in (4, 1, 2)], coloured, stops=(1,), compiled=True, kernels=True)
    assert not differing(alone, packed.of(1))
    eager = trained([one(1)], coloured).of(0)
    np.testing.assert_allclose(alone["loss"], eager["loss"], rtol=1e-4)


def test_ids_have_it_only_if_it_is_chosen_and_permuted_pixels_refuse_it():
    plain, neutral, flipped, cropped = (
        resolve(["benchmark=continual_digits", *words]).runs[0].id
        for words in (
            [],
            ["benchmark.crop_margin=2", "agent.max_norm=null"],
            ["benchmark.augment=flip"],
            ["benchmark.augment=crop", "benchmark.crop_margin=2"],
        )
    )
    assert plain == neutral
    assert len({plain, flipped, cropped}) == 3
    with pytest.raises(ConfigError, match=r"benchmark\.augment=none"):
        resolve(["benchmark=permuted_digits", "benchmark.augment=flip"])
    with pytest.raises(ConfigError, match=r"permuted pixels.*benchmark\.augment=none"):
        resolve(["benchmark=permuted_online_digits", "benchmark.augment=flip"])
    with pytest.raises(ConfigError, match=r"no images.*benchmark\.augment=none"):
        resolve(["benchmark=slowly_changing_regression", "benchmark.augment=flip"])
