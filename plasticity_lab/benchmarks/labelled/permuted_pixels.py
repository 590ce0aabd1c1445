"""Input shift: the same images in every task, with permuted pixels."""

import numpy as np

from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark, Lesson
from plasticity_lab.component import setting, with_settings
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.errors import ConfigError
from plasticity_lab.randomness.host import host_stream


@with_settings
class PermutedPixels(LabelledBenchmark):
    """Each task permutes the pixels of all images, training and test, with a different permutation.

    unpermuted_first: whether the first task shows the images unchanged; otherwise it is permuted too.

    Source: Section 6, Appendix E (Permuted MNIST: a fixed subset of 10,000 images, one epoch, 500 tasks). Kumar et al.
        2023 leave the first task unpermuted, and draw a subset for each task (`subset`: each_task).
    """

    permutes = True

    unpermuted_first: bool = setting(False, neutral=True)

    def lesson(self, image_set: ImageSet, seed: int, position: int) -> Lesson:
        """The subset with task `position`'s pixel order. Raises ConfigError if pixels would change channel."""
        if self.normalise == "std" and image_set.train_images.shape[1] > 1:
            raise ConfigError(
                f"benchmark.normalise is std, which scales each channel of {image_set.name} apart, and permuting moves "
                "pixels between channels; it must be raw or half."
            )
        pixels = permuted_pixels(seed, position, int(np.prod(image_set.train_images.shape[1:])))
        images = self.chosen(image_set, seed, position)
        held_out = self.first_held_out(len(image_set.test_labels))
        return Lesson(
            images=images,
            labels=image_set.train_labels[images],
            pixels=None if position == 0 and self.unpermuted_first else pixels,
            held_out=held_out,
            held_out_labels=image_set.test_labels[held_out],
        )


def permuted_pixels(seed: int, position: int, pixels: int) -> np.ndarray:
    """The pixel order of task `position`, (D,)."""
    return host_stream(seed, "pixels", position).permutation(pixels)
