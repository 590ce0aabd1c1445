"""A saved network that classifies images, and the tasks that it has learned.

Legend: B images, C channels, H, W rows and columns, D pixels (C·H·W), O classes.
"""

from dataclasses import dataclass
from functools import cached_property
from math import prod
from operator import index
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.supervised.images import Pixels
from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark, Lesson
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.errors import InputError
from plasticity_lab.saved_network.network import Outputs, SavedNetwork, TensorOrArray, in_rows


@dataclass(frozen=True)
class SavedClassifier(SavedNetwork):
    """A classifier and the benchmark that it was trained on.  data: the folder of data sets, read where it is needed.

    Tasks are counted from 0, as the column `task` of metrics has them.
    """

    benchmark: LabelledBenchmark
    data: Path

    def __call__(self, images: TensorOrArray, task: int | None = None) -> Outputs:
        """The outputs in evaluation mode: "logits", (B, O).  images, task: as in `prepared`."""
        return self.units(images, task)[0]

    def units(self, images: TensorOrArray, task: int | None = None) -> tuple[Outputs, Outputs]:
        """The outputs, and what the activations give by unit name, (B, units) or (B, C, H, W)."""
        return self._forward(self.prepared(images, task), self.model.only_body)

    def prepared(self, images: TensorOrArray, task: int | None = None) -> Tensor:
        """Images as the network was given them, (B, D) float32.

        images: (B, D), (B, C, H, W), or (B, H, W) where there is one channel; one image the same without B. uint8:
        pixels as the files of the image set hold them, which are scaled here as the run's `benchmark.normalise` says.
        Floats: scaled already. task: in whose pixel order they are laid; None: they are in the order that is meant.
        Raises InputError; DataError where `normalise` is std and the image set, on which means and deviations are
        measured, is not in the folder of data.
        """
        pixels = in_rows(images, self._image)
        if pixels.dtype not in (torch.uint8, torch.float32):
            raise InputError(
                f"The images are of dtype {str(pixels.dtype).removeprefix('torch.')}; they must be uint8, as the files "
                f"of {self.benchmark.source} hold them, or floats that are scaled as "
                f"benchmark.normalise={self.benchmark.normalise} says."
            )
        if task is not None:
            pixels = pixels[..., torch.from_numpy(self.pixel_order(task))]
        return pixels if pixels.dtype == torch.float32 else self._scaled(pixels)

    def pixel_order(self, task: int) -> NDArray[np.int64]:
        """The pixel order of a task, (D,): the network was given pixel order[d] of an image as its d-th number.

        0, 1, … where the task leaves pixels in place.
        """
        lesson = self.benchmark.lesson(self._outline, self.run.seed_of("stream_seed"), self._task(task))
        return np.arange(prod(self._image)) if lesson.pixels is None else lesson.pixels

    def lesson(self, task: int) -> Lesson:
        """Which images of `image_set` a task has, and under which labels: for training, and held out.

        Raises DataError where the image set is not in the folder of data.
        """
        return self.benchmark.lesson(self.image_set, self.run.seed_of("stream_seed"), self._task(task))

    def classes(self, task: int) -> dict[int, int]:
        """For each output that a task's training images have as label, the class of `image_set` that it stands for.

        Where a benchmark calls the classes of each task 0, 1, …, these are others in every task. Raises InputError
        where the labels are not classes but drawn for each image; DataError as `lesson`.
        """
        lesson = self.lesson(task)
        pairs = np.unique(np.stack([lesson.labels, self.image_set.train_labels[lesson.images]]), axis=1)
        if len(set(pairs[0].tolist())) < pairs.shape[1]:
            raise InputError(
                f"The outputs of benchmark={self.run.science['benchmark']['name']} stand for no classes, since labels "
                "are drawn for each image; network.lesson(task) has the images and their labels."
            )
        return dict(pairs.T.tolist())

    @cached_property
    def image_set(self) -> ImageSet:
        """The images that the tasks are made of.  Raises DataError where they are not in the folder of data."""
        return self.benchmark.resource(self.data)

    @cached_property
    def _outline(self) -> ImageSet:
        """The same in shape and number, whether or not its files are there."""
        return self.benchmark.outline() or self.image_set

    @property
    def _image(self) -> tuple[int, ...]:
        return self.model.inputs[self.model.only_body]

    def _scaled(self, pixels: Tensor) -> Tensor:
        measured = self.benchmark.normalise == "std"
        image_set = self.image_set if measured else self._outline
        if pixels.numel() and pixels.max() > image_set.white:
            raise InputError(
                f"The images are uint8 and go up to {int(pixels.max())}; pixels of {self.benchmark.source} go up to "
                f"{image_set.white}, so give them as its files hold them, or as floats that are scaled already."
            )
        return Pixels(image_set, self.benchmark.normalise, torch.device("cpu")).scaled(pixels)

    def _task(self, task: int) -> int:
        try:
            position = -1 if isinstance(task, bool) else index(task)
        except TypeError:
            position = -1
        if not 0 <= position < self.benchmark.tasks:
            raise InputError(f"task is {task!r}; it must be a whole number from 0 to {self.benchmark.tasks - 1}.")
        return position
