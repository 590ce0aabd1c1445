from dataclasses import replace

import numpy as np
import pytest
import torch

from plasticity_lab.agents.supervised.images import Pixels, laid_out, lay_out, room_for, source_of
from plasticity_lab.agents.supervised.score import HeldOutUnmoved
from plasticity_lab.benchmarks.labelled.benchmark import Lesson
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.kernels.operators import reordered
from plasticity_lab.kernels.through import prepare
from tests.helpers.packs import CPU, images, needs_kernels

COLOURED = images(4, 30, 12, channels=3)


def flat(image_set: ImageSet) -> torch.Tensor:
    return torch.from_numpy(image_set.train_images.reshape(30, -1))


@pytest.mark.parametrize(("normalise", "floats"), [("raw", [0.0, 0.2, 1.0]), ("half", [-1.0, -0.6, 1.0])])
@pytest.mark.parametrize("white", [255, 15])
def test_raw_pixels_run_from_0_to_the_sets_own_white_and_half_from_minus_1_to_1(normalise, floats, white):
    own = replace(COLOURED, train_images=COLOURED.train_images % 16, test_images=COLOURED.test_images % 16, white=white)
    scaled = Pixels(own, normalise, CPU).scaled(torch.tensor([0, white // 5, white], dtype=torch.uint8))
    assert scaled.dtype == torch.float32
    torch.testing.assert_close(scaled, torch.tensor(floats))


def test_std_standardises_each_channel():
    scaled = Pixels(COLOURED, "std", CPU).scaled(flat(COLOURED)).reshape(30, 3, 16).double()
    assert scaled.mean(dim=(0, 2)).abs().max() < 1e-5
    assert (scaled.square().mean(dim=(0, 2)) - 1).abs().max() < 1e-5


def a_lesson(pixels=None, split="test") -> Lesson:
    index = np.array([7, 2, 9])
    return Lesson(
        images=np.array([3, 1, 4, 20]),
        labels=np.array([0, 1, 2, 3]),
        pixels=pixels,
        held_out=index,
        held_out_labels=np.array([4, 5, 6]),
        held_out_split=split,
    )


@pytest.mark.parametrize("split", ["test", "train"])
def test_training_and_held_out_images_are_permuted_alike(split):
    order = np.random.default_rng(0).permutation(48)
    for held_out, source, index in (
        (False, COLOURED.train_images, [3, 1, 4, 20]),
        (True, COLOURED.test_images if split == "test" else COLOURED.train_images, [7, 2, 9]),
    ):
        shown, labels = laid_out(COLOURED, [a_lesson(order, split)], CPU, held_out)
        assert shown.dtype == torch.uint8
        for row, i in enumerate(index):
            image = source[i].ravel()
            assert all(int(shown[0, row, d]) == image[order[d]] for d in range(48))
        assert labels.tolist() == ([[4, 5, 6]] if held_out else [[0, 1, 2, 3]])


def test_images_that_all_runs_see_are_kept_once():
    order = np.random.default_rng(0).permutation(48)
    same, labels = laid_out(COLOURED, [a_lesson(), a_lesson(), a_lesson()], CPU)
    assert (same.shape, labels.shape) == ((1, 4, 48), (3, 4))
    different, _ = laid_out(COLOURED, [a_lesson(), a_lesson(order), a_lesson()], CPU)
    assert different.shape == (3, 4, 48)
    assert torch.equal(different[0], same[0])
    assert torch.equal(different[2], same[0])
    assert torch.equal(different[1], same[0][:, order])


def test_images_of_the_next_task_take_the_place_of_the_last_ones():
    room = room_for(2, 5, 48, CPU)
    order = np.random.default_rng(0).permutation(48)
    for lessons in ([a_lesson(), a_lesson(order)], [a_lesson(), a_lesson()]):
        shown, labels = laid_out(COLOURED, lessons, CPU, room=room)
        alone, same = laid_out(COLOURED, lessons, CPU)
        assert np.shares_memory(shown.numpy(), room.numpy())
        assert shown.shape == (len(alone), 5, 48)
        assert torch.equal(shown[:, :4], alone)
        assert torch.equal(labels, same)


@pytest.mark.parametrize("held_out", [False, True])
def test_a_gpu_lays_out_what_a_cpu_does(held_out):
    orders = [np.random.default_rng(seed).permutation(48) for seed in range(2)]
    lessons = [a_lesson(orders[0]), a_lesson(), a_lesson(orders[1])]
    wanted, _ = laid_out(COLOURED, lessons, CPU, held_out)
    room = room_for(3, 5, 48, CPU)
    sources = [source_of(COLOURED, lesson, held_out) for lesson in lessons]
    lay_out(room, sources, [lesson.held_out if held_out else lesson.images for lesson in lessons], lessons)
    assert torch.equal(room[:, : wanted.shape[1]], wanted)
    assert not room[:, wanted.shape[1] :].any()


@pytest.mark.parametrize("outputs", [5, 16])
def test_weights_that_change_places_answer_as_pixels_that_do(outputs):
    """Whole numbers, so that a sum is the same in any order."""
    draw = np.random.default_rng(0)
    held_out = HeldOutUnmoved(COLOURED, CPU, "first")
    weight = torch.from_numpy(draw.integers(-9, 10, (3, 48, outputs))).float()
    parameters = {"first.weight": weight.clone(), "first.bias": torch.ones(3, 1, outputs)}
    for lessons in (
        [a_lesson(draw.permutation(48)), a_lesson(), a_lesson(draw.permutation(48))],
        [a_lesson(draw.permutation(48), split="train") for _ in range(3)],
    ):
        images, labels = held_out.laid_out(lessons)
        shown, same = laid_out(COLOURED, lessons, CPU, held_out=True)
        reader = held_out.reader(parameters, lessons)
        answers = images.float() @ reader["first.weight"] + reader["first.bias"]
        assert torch.equal(answers[..., :outputs], shown.float() @ weight + 1)
        assert torch.equal(parameters["first.weight"], weight)
        assert torch.equal(labels, same)


def test_only_the_first_layer_and_its_frozen_copies_change_places():
    """A layer within another one has the first layer's name at the end of its own."""
    held_out, order = HeldOutUnmoved(COLOURED, CPU, "first"), np.random.default_rng(0).permutation(48)
    layers = ("first", "frozen.kept.first", "block.first", "frozen.kept.block.first")
    weight = torch.arange(48.0 * 4).view(1, 48, 4)
    parameters = {
        f"{layer}.{part}": value for layer in layers for part, value in (("weight", weight), ("bias", weight[:, :1]))
    }
    reader = held_out.reader(parameters, [a_lesson(order)])
    moved = [layer for layer in layers if not torch.equal(reader[f"{layer}.weight"][..., :4], weight)]
    assert moved == ["first", "frozen.kept.first"]
    assert torch.equal(reader["first.weight"][:, order, :4], weight)


def test_unmoved_images_lie_there_once_for_all_runs_and_tasks():
    draw = np.random.default_rng(0)
    held_out = HeldOutUnmoved(COLOURED, CPU, "first")
    (one, _), (other, _) = (held_out.laid_out([a_lesson(draw.permutation(48)) for _ in range(3)]) for _ in range(2))
    assert one is other
    assert torch.equal(one, laid_out(COLOURED, [a_lesson()], CPU, held_out=True)[0])


@pytest.mark.parametrize("normalise", ["raw", "std", "half"])
def test_images_that_lie_with_channels_last_give_the_same_floats(normalise):
    usual, last = (Pixels(COLOURED, normalise, CPU, channels_last=last) for last in (False, True))
    lessons = [a_lesson(), a_lesson(np.random.default_rng(0).permutation(48))]
    shown, _ = laid_out(COLOURED, lessons, CPU, order=last.order)
    assert shown[0, 0, :3].tolist() == COLOURED.train_images[3, :, 0, 0].tolist()
    assert torch.equal(last.scaled(shown), usual.scaled(laid_out(COLOURED, lessons, CPU)[0]))
    assert usual.structure_key != last.structure_key


@needs_kernels
@pytest.mark.parametrize(("count", "pixels"), [(33, 64), (16, 49), (20, 9), (3, 784)])
def test_pixels_are_reordered_by_the_kernels_as_by_numpy(count, pixels):
    """Squares of sixteen, and what is left over of images and of pixels."""
    prepare()
    draw = np.random.default_rng(0)
    shown, order = draw.integers(0, 256, (count, pixels), np.uint8), draw.permutation(pixels)
    found = np.zeros_like(shown)
    reordered(shown, order, found)
    assert np.array_equal(found, shown[:, order])
    with pytest.raises(RuntimeError, match="an order names pixels of the image"):
        reordered(shown, order + 1, found)
