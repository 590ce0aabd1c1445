"""The images of the task before, for the steps of a transition.

Legend: K runs, S steps of a chunk, B examples of a batch, N images of the task before, R rows of memory, D pixels.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.supervised.images import laid_out, room_for
from plasticity_lab.agents.supervised.tables import aligned_batches, transition_rows
from plasticity_lab.benchmarks.labelled.stream import Chunk, Task
from plasticity_lab.data.image_set import ImageSet


class EarlierTask:
    """Images of the task before on the device, images (R, D); its memory is taken at the first transition.

    most: images of the largest task. order: the pixel order, as in `Pixels`.
    """

    def __init__(
        self, image_set: ImageSet, runs: int, most: int, device: torch.device, order: NDArray[np.int64] | None
    ) -> None:
        self.image_set, self.runs, self.most, self.device, self.order = image_set, runs, most, device, order
        self.room: Tensor | None = None
        self.images, self.labels_KN = torch.empty(0), np.zeros((runs, 0), np.int64)
        self.offsets_K = np.zeros(runs, np.int64)

    def begin(self, task: Task) -> None:
        """Copies the images of the task before to the device, if the task begins with a transition."""
        if not task.earlier:
            return
        if self.room is None:
            self.room = room_for(self.runs, self.most, int(np.prod(self.image_set.train_images.shape[1:])), self.device)
        images, _ = laid_out(self.image_set, task.earlier, self.device, room=self.room, order=self.order)
        self.images = images.flatten(0, 1)
        self.labels_KN = np.stack([lesson.labels for lesson in task.earlier])
        self.offsets_K = np.arange(self.runs) * (self.most if len(images) > 1 else 0)

    def rows(self, chunk: Chunk, shares_KSB: NDArray[np.float32]) -> dict[str, Tensor]:
        """The rows of the chunk's tables in a transition (see `transition_rows`)."""
        at_KSB = aligned_batches(chunk)[0] % self.labels_KN.shape[1]
        labels = np.take_along_axis(self.labels_KN, at_KSB.reshape(self.runs, -1), axis=1).reshape(at_KSB.shape)
        return transition_rows(shares_KSB, at_KSB + self.offsets_K[:, None, None], labels, self.device)
