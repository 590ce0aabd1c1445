"""One example at a time: pixels or classes are permuted every few thousand steps."""

from dataclasses import replace

from plasticity_lab.benchmarks.labelled.benchmark import Lesson
from plasticity_lab.benchmarks.labelled.permuted_pixels import PermutedPixels
from plasticity_lab.component import setting, with_settings
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.randomness.host import host_stream


@with_settings
class PermutedOnline(PermutedPixels):
    """Each task permutes the pixels of all images, or the names of the classes, for one pass over its own images.

    permuted: pixels, or labels.

    Source: Elsayed & Mahmood 2024, Section 4 (Input-permuted MNIST, Label-permuted EMNIST and CIFAR-10): at each change
        their code shuffles the whole set again, so a task's images are drawn without replacement (`subset`: each_task).
    """

    permuted: str = setting("pixels", one_of=("pixels", "labels"))

    @property
    def shows_images(self) -> bool:
        """Whether pixels stay in place."""
        return self.permuted == "labels"

    def lesson(self, image_set: ImageSet, seed: int, position: int) -> Lesson:
        """The task's images with its pixel order, or with its names of the classes."""
        if self.permuted == "pixels":
            return super().lesson(image_set, seed, position)
        names = host_stream(seed, "names", position).permutation(image_set.classes)
        held_out = self.first_held_out(len(image_set.test_labels))
        true = Lesson.of_set(image_set, self.chosen(image_set, seed, position), held_out)
        return replace(true, labels=names[true.labels], held_out_labels=names[true.held_out_labels])
