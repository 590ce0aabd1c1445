"""Number of held-out images that a pack classifies correctly; compiled if the step is compiled.

Legend: K runs, N images, D pixels, E images at a time, O classes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.agents.supervised.images import Pixels, labels_of, laid_out, room_for
from plasticity_lab.benchmarks.labelled.benchmark import Lesson
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.kernels.through import through
from plasticity_lab.networks.halves import copy_of
from plasticity_lab.networks.model import Model

AT_ONCE = 200
"""Images of one forward pass. A fixed number, so that a run's logits never depend on its pack; small enough that
activations between layers stay in the cache.
"""

Score = Callable[..., Tensor]


def score_of(model: Model, pixels: Pixels, kernels: bool = False) -> Score:
    """The score in evaluation mode, as a function of tensors alone. It returns the number of correct images, (K,)
    int64.

    Its arguments:
    parameters: name → (K, ...).
    shape: the activation's settings on the run axis.
    images: (K, N, D) or (1, N, D) uint8.
    labels: (K, N).
    at (E,): indices into the N images.
    there (E,): whether each of the E counts.
    factor (): multiplies the pre-activations; None leaves them unchanged.
    """
    once = kernels and model.network.reading is not None  # our kernels read shared images once for all runs

    def score(
        parameters: Mapping[str, Tensor],
        shape: Mapping[str, Tensor],
        images: Tensor,
        labels_KN: Tensor,
        at: Tensor,
        there: Tensor,
        factor: Tensor | None = None,
    ) -> Tensor:
        x = pixels.scaled(images.index_select(1, at))
        x_KED = x if once else x.expand(labels_KN.shape[0], -1, -1)
        logits_KEO = model.forward(through(parameters, kernels), shape, x_KED, None, factor=factor)[0]["logits"]
        right_KE = logits_KEO.argmax(dim=-1) == labels_KN.index_select(1, at)
        return (right_KE & there).sum(dim=1)

    return score


def indices(total: int, device: torch.device) -> list[tuple[Tensor, Tensor]]:
    """0 … total − 1 in equal parts of `AT_ONCE`: (at, there). Missing entries repeat the last index and do not
    count.
    """
    every = torch.arange(-(-total // AT_ONCE) * AT_ONCE, device=device)
    return list(zip(every.clamp(max=total - 1).split(AT_ONCE), (every < total).split(AT_ONCE), strict=True))


# Held-out images of a task, in memory that is reused for each task: new memory would cost more than filling it.
#
# Legend: K runs, M held-out images, D pixels (C·H·W), O units of the layer that reads them.

Tensors = Mapping[str, Tensor]
LANES = 16
"""Number of floats in the longest vector of a CPU."""


class HeldOut:
    """Held-out images in the network's input layout; `Pixels` gives the order of each image's pixels."""

    def __init__(self, image_set: ImageSet, device: torch.device, order: NDArray[np.int64] | None = None) -> None:
        self.image_set, self.device, self.order = image_set, device, order
        self._room = room_for(0, 0, 0, device)

    def laid_out(self, lessons: Sequence[Lesson]) -> tuple[Tensor, Tensor]:
        """A task's images (K, M, D) uint8, valid until the next call, and labels (K, M).

        Images have shape (1, M, D) if every run uses the same.
        """
        pixels = int(np.prod(self.image_set.train_images.shape[1:]))
        shape = len(lessons), len(lessons[0].held_out), pixels
        if self._room.shape != shape:
            self._room = room_for(*shape, self.device)
        return laid_out(self.image_set, lessons, self.device, held_out=True, room=self._room, order=self.order)

    def reader(self, parameters: Tensors, lessons: Sequence[Lesson]) -> Tensors:
        """The parameters for a network that reads these images: unchanged."""
        return parameters


class HeldOutUnmoved:
    """Held-out images for tasks that permute pixels, stored as in the image set. Instead of the pixels, the rows of the
    first layer's weights are permuted.

    This moves D · O numbers per run instead of D · M. Sums then add their products in another order, so the last digits
    of logits differ. If tasks and runs share their images, one copy is stored.

    reading: the layer that reads the images (see `Network.reading`).
    """

    def __init__(self, image_set: ImageSet, device: torch.device, reading: str) -> None:
        self._images, self._weight, self._bias = HeldOut(image_set, device), f"{reading}.weight", f"{reading}.bias"
        self._there: list[tuple[str, bytes]] = []
        self._laid_out = torch.empty(0)

    def laid_out(self, lessons: Sequence[Lesson]) -> tuple[Tensor, Tensor]:
        """A task's images in the layout of the set, (K, M, D) uint8 or (1, M, D), and labels (K, M)."""
        there = [(lesson.held_out_split, lesson.held_out.tobytes()) for lesson in lessons]
        if there != self._there:
            self._laid_out, _ = self._images.laid_out([replace(lesson, pixels=None) for lesson in lessons])
            self._there = there
        return self._laid_out, labels_of(lessons, self._images.device, held_out=True)

    def reader(self, parameters: Tensors, lessons: Sequence[Lesson]) -> Tensors:
        """The parameters for a network that reads these images: row p of the weights reads pixel p of the set."""
        moved = dict(parameters)
        for name in (each for each in parameters if each.removeprefix(copy_of(each)) == self._weight):
            copy = copy_of(name)
            moved |= self._moved(parameters[name], parameters[f"{copy}{self._bias}"], lessons, copy)
        return moved

    def _moved(self, weight_KDO: Tensor, bias_K1O: Tensor, lessons: Sequence[Lesson], copy: str) -> dict[str, Tensor]:
        outputs = weight_KDO.shape[2]
        # Rows aligned to vectors are read faster; a layer ignores the columns of padding.
        moved_KDO, bias_K1O = (pad(each, (0, -outputs % LANES)) for each in (weight_KDO, bias_K1O))
        for run, lesson in enumerate(lessons):
            if lesson.pixels is not None:
                order = torch.from_numpy(lesson.pixels).to(weight_KDO.device)
                moved_KDO[run, order, :outputs] = weight_KDO[run]
        return {f"{copy}{self._weight}": moved_KDO, f"{copy}{self._bias}": bias_K1O}
