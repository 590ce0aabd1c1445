"""Concept shift: the same images in every task, under new random labels."""

import numpy as np

from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark, Lesson
from plasticity_lab.component import setting, with_settings
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.randomness.host import host_stream


@with_settings
class RandomLabels(LabelledBenchmark):
    """Each task draws a label for each image, to be memorised; evaluated on the task's own images.

    labels: iid (uniform over the classes, as published) or permute (the true labels in a random order, which keeps the
        class counts; Kumar et al. 2023).

    Source: Section 6, Appendix E; Lyle et al. 2023.
    """

    labels: str = setting("iid", one_of=("iid", "permute"))

    def lesson(self, image_set: ImageSet, seed: int, position: int) -> Lesson:
        """The subset under task `position`'s labels."""
        images = self.chosen(image_set, seed, position)
        draw = host_stream(seed, "labels", position)
        if self.labels == "permute":
            labels = draw.permutation(image_set.train_labels[images])
        else:
            labels = draw.integers(0, image_set.classes, len(images))
        held_out = self.first_held_out(len(images))
        return Lesson(
            images=images,
            labels=labels.astype(np.int64),
            pixels=None,
            held_out=images[held_out],
            held_out_labels=labels[held_out].astype(np.int64),
            held_out_split="train",
        )
