"""How many held-out images a pack gets right: compiled where the step is.

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
from plasticity_lab.networks.model import Model

AT_ONCE = 200
"""Images of one forward pass: a fixed number, so that a run's logits never depend on its pack; few enough that what
lies between the layers stays in the cache."""

Score = Callable[..., Tensor]


def score_of(model: Model, pixels: Pixels, kernels: bool = False) -> Score:
    """The score in evaluation mode, as a function of tensors alone.

    Its arguments: parameters; the activation's settings on the run axis; images (K, N, D) or (1, N, D) uint8; labels
    (K, N); at (E,), which of the N; there (E,), which of the E count; factor (), by which pre-activations are
    multiplied, if they are. Returns how many are right, (K,) int64.
    """
    once = kernels and model.network.reading is not None  # our kernels take once what all runs are given

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
    """0 … total − 1 in equal parts of `AT_ONCE`: (at, there); what is missing repeats the last and does not count."""
    every = torch.arange(-(-total // AT_ONCE) * AT_ONCE, device=device)
    return list(zip(every.clamp(max=total - 1).split(AT_ONCE), (every < total).split(AT_ONCE), strict=True))


# Held-out images of a task, in memory that stays from task to task: fresh memory would cost more than filling it.
#
# Legend: K runs, M held-out images, D pixels (C·H·W), O units of the layer that reads them.

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
