import dataclasses

import numpy as np
import pytest

from plasticity_lab.data.image_set import ImageSet, channel_moments
from plasticity_lab.errors import DataError


def images(count=4, channels=3):
    return np.arange(count * channels * 4, dtype=np.uint8).reshape(count, channels, 2, 2)


def made(**changes):
    good = ImageSet("made", images(), np.array([0, 1, 2, 0]), images(2), np.array([2, 1]), classes=3, white=100)
    return dataclasses.replace(good, **changes)


def test_moments_are_those_of_the_pixels_as_fractions():
    many = np.random.Generator(np.random.Philox(key=1)).integers(0, 256, (2003, 2, 3, 3), dtype=np.uint8)
    many[:, 1] //= 2
    mean, std = channel_moments(many, white=255)
    pixels = many.transpose(1, 0, 2, 3).reshape(2, -1) / 255
    assert mean.dtype == std.dtype == np.float32
    np.testing.assert_allclose(mean, pixels.mean(axis=1), rtol=1e-6)
    np.testing.assert_allclose(std, pixels.std(axis=1), rtol=1e-6)


def test_moments_are_of_the_training_images_alone():
    np.testing.assert_allclose(made().moments[0], images().mean(axis=(0, 2, 3)) / 100, rtol=1e-6)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"train_images": images().astype(np.float32)}, "training images are float32"),
        ({"test_images": images()[:, 0]}, r"test images are uint8 \(4, 2, 2\)"),
        ({"test_images": images(2, channels=1)}, r"\(3, 2, 2\) in training, \(1, 2, 2\) in test"),
        ({"train_labels": np.array([0, 1, 2])}, r"training labels are int64 \(3,\), not int64 \(4,\)"),
        ({"train_labels": np.zeros(4, np.int32)}, "training labels are int32"),
        ({"train_labels": np.array([0, 1, 2, 3])}, r"training labels are not all within 0\.\.2"),
        ({"test_labels": np.array([0, -1])}, r"test labels are not all within 0\.\.2"),
        ({"white": 16}, "pixels above white, 16"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changes, sentence):
    with pytest.raises(DataError, match=sentence):
        made(**changes)
