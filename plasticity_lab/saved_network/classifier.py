"""A saved network that classifies images, with the tasks that it has learned.

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
    """A classifier and the benchmark that it was trained on.  data: the folder of data sets, read if it is needed.

    Tasks are counted from 0, as in the column `task` of metrics.
    """

    benchmark: LabelledBenchmark
    data: Path

    def __call__(self, images: TensorOrArray, task: int | None = None) -> Outputs:
        """The outputs in evaluation mode: "logits", (B, O).  images, task: as in `prepared`."""
        return self.units(images, task)[0]

    def units(self, images: TensorOrArray, task: int | None = None) -> tuple[Outputs, Outputs]:
        """The outputs, and the activations by unit name, (B, units) or (B, C, H, W)."""
        return self._forward(self.prepared(images, task), self.model.only_body)

    def prepared(self, images: TensorOrArray, task: int | None = None) -> Tensor:
        """Images as inputs of the network, (B, D) float32.

        images: (B, D), (B, C, H, W), or (B, H, W) for one channel; a single image has the same shape without B. uint8:
        pixels as in the files of the image set, which are scaled here by the run's `benchmark.normalise`. Floats:
        already scaled. task: applies the pixel order of this task; None: the order is not changed. Raises InputError;
        DataError if `normalise` is std and the image set, which provides means and deviations, is not in the folder of
        data.
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
        """The pixel order of a task, (D,): the network's d-th input is pixel order[d] of an image.

        0, 1, … if the task does not permute pixels.
        """
        lesson = self.benchmark.lesson(self._outline, self.run.seed_of("stream_seed"), self._task(task))
        return np.arange(prod(self._image)) if lesson.pixels is None else lesson.pixels

    def lesson(self, task: int) -> Lesson:
        """The images of `image_set` in a task, with their labels: for training, and held out.

        Raises DataError if the image set is not in the folder of data.
        """
        return self.benchmark.lesson(self.image_set, self.run.seed_of("stream_seed"), self._task(task))

    def classes(self, task: int) -> dict[int, int]:
        """Output → class of `image_set`, for each label of a task's training images.

        If a benchmark numbers the classes of each task 0, 1, …, they differ between tasks. Raises InputError if labels
        are drawn for each image and do not represent classes; DataError as `lesson`.
        """
        lesson = self.lesson(task)
        pairs = np.unique(np.stack([lesson.labels, self.image_set.train_labels[lesson.images]]), axis=1)
        if len(set(pairs[0].tolist())) < pairs.shape[1]:
            raise InputError(
                f"The outputs of benchmark={self.run.science['benchmark']['name']} do not represent classes: labels "
                "are drawn for each image; network.lesson(task) has the images and their labels."
            )
        return dict(pairs.T.tolist())

    @cached_property
    def image_set(self) -> ImageSet:
        """The images of the tasks.  Raises DataError if they are not in the folder of data."""
        return self.benchmark.resource(self.data)

    @cached_property
    def _outline(self) -> ImageSet:
        """An image set of the same shape and number, with or without its files."""
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
