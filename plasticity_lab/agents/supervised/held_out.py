"""Held-out images of a task, in memory that stays from task to task: fresh memory would cost more than filling it.

Legend: K runs, M held-out images, D pixels (C·H·W).
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.supervised.images import labels_of, laid_out, room_for, source_of
from plasticity_lab.benchmarks.labelled.benchmark import Lesson
from plasticity_lab.data.image_set import ImageSet

Bytes = NDArray[np.uint8]


class HeldOutInRows:
    """Laid out image by image, the pixels of each in an order that `Pixels` says."""

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


class HeldOutByPixel:
    """Of tasks that permute pixels, laid out pixel by pixel: a pixel that moves is the copy of a whole row then, which
    takes an eighth of the time, and matrix products read them as they lie. Training images come in batches of any
    order, which cannot be cut out of such a layout. It is a layout for CPUs, by the host.
    """

    def __init__(self, image_set: ImageSet, device: torch.device) -> None:
        self.image_set, self.device = image_set, device
        self._by_pixel: dict[tuple[str, bytes], Bytes] = {}  # out of the set, for all tasks and runs that share them
        self._room = np.empty((0, 0, 0), np.uint8)

    def laid_out(self, lessons: Sequence[Lesson]) -> tuple[Tensor, Tensor]:
        """A task's images (K, D, M) uint8, which stay until the next call, and labels (K, M).

        Images (1, D, M) where every run sees the same.
        """
        keys = [(lesson.held_out_split, lesson.held_out.tobytes()) for lesson in lessons]
        known, self._by_pixel = self._by_pixel, {}
        for key, lesson in zip(keys, lessons, strict=True):
            if key not in self._by_pixel:
                self._by_pixel[key] = known[key] if key in known else self._taken(lesson)
        orders = {None if lesson.pixels is None else lesson.pixels.tobytes() for lesson in lessons}
        runs = 1 if len(orders) == len(self._by_pixel) == 1 else len(lessons)
        shape = (runs, *self._by_pixel[keys[0]].shape)
        if self._room.shape != shape:
            self._room = np.empty(shape, np.uint8)
        for run, (key, lesson) in enumerate(zip(keys[:runs], lessons[:runs], strict=True)):
            shown = self._room[run]
            if lesson.pixels is None:
                shown[...] = self._by_pixel[key]
            else:  # a mode lets NumPy write in place; no pixel is out of range
                np.take(self._by_pixel[key], lesson.pixels, axis=0, out=shown, mode="clip")
        return torch.from_numpy(self._room).to(self.device), labels_of(lessons, self.device, held_out=True)

    def _taken(self, lesson: Lesson) -> Bytes:
        """The images of a lesson in their own order of pixels, (D, M)."""
        return np.ascontiguousarray(source_of(self.image_set, lesson, held_out=True)[lesson.held_out].T)
