"""Held-out images of a task, in memory that stays from task to task: fresh memory would cost more than filling it.

Legend: K runs, M held-out images, D pixels (C·H·W), O units of the layer that reads them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.agents.supervised.images import labels_of, laid_out, room_for
from plasticity_lab.benchmarks.labelled.benchmark import Lesson
from plasticity_lab.data.image_set import ImageSet

Tensors = Mapping[str, Tensor]
LANES = 16
"""Floats of the longest vector of a CPU."""


class HeldOut:
    """Laid out as the network is shown them, the pixels of each image in an order that `Pixels` says."""

    def __init__(self, image_set: ImageSet, device: torch.device, order: NDArray[np.int64] | None = None) -> None:
        self.image_set, self.device, self.order = image_set, device, order
        self._room = room_for(0, 0, 0, device)

    def laid_out(self, lessons: Sequence[Lesson]) -> tuple[Tensor, Tensor]:
        """A task's images (K, M, D) uint8, which stay until the next call, and labels (K, M).

        Images (1, M, D) where every run sees the same.
        """
        pixels = int(np.prod(self.image_set.train_images.shape[1:]))
        shape = len(lessons), len(lessons[0].held_out), pixels
        if self._room.shape != shape:
            self._room = room_for(*shape, self.device)
        return laid_out(self.image_set, lessons, self.device, held_out=True, room=self._room, order=self.order)

    def reader(self, parameters: Tensors, lessons: Sequence[Lesson]) -> Tensors:
        """The parameters of a network that is given these images: as they are."""
        return parameters


class HeldOutUnmoved:
    """Of tasks that permute pixels, laid out as they lie in the image set: instead of the pixels, the rows of the
    weights that read them change places, D · O numbers of a run and not D · M. A sum takes its products in another
    order then, so last digits of logits differ. Where tasks and runs share their images, these lie there once.

    reading: the layer that reads them (see `Network.reading`).
    """

    def __init__(self, image_set: ImageSet, device: torch.device, reading: str) -> None:
        self._images, self._weight, self._bias = HeldOut(image_set, device), f"{reading}.weight", f"{reading}.bias"
        self._there: list[tuple[str, bytes]] = []
        self._laid_out = torch.empty(0)

    def laid_out(self, lessons: Sequence[Lesson]) -> tuple[Tensor, Tensor]:
        """A task's images (K, M, D) uint8, as they lie in the set, or (1, M, D), and labels (K, M)."""
        there = [(lesson.held_out_split, lesson.held_out.tobytes()) for lesson in lessons]
        if there != self._there:
            self._laid_out, _ = self._images.laid_out([replace(lesson, pixels=None) for lesson in lessons])
            self._there = there
        return self._laid_out, labels_of(lessons, self._images.device, held_out=True)

    def reader(self, parameters: Tensors, lessons: Sequence[Lesson]) -> Tensors:
        """The parameters of a network that is given these images: row p of the weights reads pixel p of the set."""
        weight_KDO, bias_K1O = parameters[self._weight], parameters[self._bias]
        outputs = weight_KDO.shape[2]
        # Rows that begin where vectors do are read faster; a layer cuts off what it has no units for.
        moved_KDO, bias_K1O = (pad(each, (0, -outputs % LANES)) for each in (weight_KDO, bias_K1O))
        for run, lesson in enumerate(lessons):
            if lesson.pixels is not None:
                order = torch.from_numpy(lesson.pixels).to(weight_KDO.device)
                moved_KDO[run, order, :outputs] = weight_KDO[run]
        return {**parameters, self._weight: moved_KDO, self._bias: bias_K1O}
