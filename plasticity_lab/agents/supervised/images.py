"""Images on the device: laid out for a task, and converted to floats batch by batch.

Legend: K runs, N images, R rows allocated for them, D pixels (C·H·W).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.benchmarks.labelled.augmentation import Augmentation
from plasticity_lab.benchmarks.labelled.benchmark import Lesson
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.kernels.operators import reordered


class Pixels:
    """Converts bytes to floats by `normalise`: raw (0 to 1), std (each channel standardised), half (−1 to 1).

    channels_last: whether the bytes of a pixel's channels are adjacent, as convolutions on a CPU read them. Floats are
        always returned channel by channel. A compiled reader then reads bytes and floats in memory order.
    order: (D,), the index in the set's image of each byte; None if the layout is the same.
    augmentation: the moves of training images; None without.
    structure_key: words for all of this; objects with equal words are the same function.
    """

    def __init__(
        self,
        image_set: ImageSet,
        normalise: str,
        device: torch.device,
        channels_last: bool = False,
        augmentation: Augmentation | None = None,
    ) -> None:
        self.white = float(image_set.white)
        self.normalise = normalise
        shape = image_set.train_images.shape[1:]
        self.order: NDArray[np.int64] | None = None
        if channels_last and shape[0] > 1:
            self.order = np.arange(np.prod(shape)).reshape(shape[0], -1).T.ravel()
        self.channels = shape[0]
        self.structure_key = [normalise, str(self.white), str(shape), str(self.order is not None)]
        if normalise == "std":
            self.structure_key += [str(values.tolist()) for values in image_set.moments]
            self.mean, self.deviation = (
                torch.from_numpy(self.as_they_lie(np.repeat(values, int(np.prod(shape[1:]))))).to(device)
                for values in image_set.moments
            )
        if augmentation is not None:
            self.structure_key.append(str(augmentation))
            of_pixels = augmentation.sources(shape)
            if self.order is not None:
                of_pixels = np.append(np.argsort(self.order), self.order.size)[of_pixels][:, self.order]
            self.sources = torch.from_numpy(of_pixels).to(device)

    def as_they_lie(self, images: NDArray[Any]) -> NDArray[Any]:
        """Numbers (..., D), channel by channel, in the layout of the bytes."""
        return images if self.order is None else np.take(images, self.order, axis=-1)

    def moved(self, pixels: Tensor, moves: Tensor) -> Tensor:
        """Augmented images (K, B, D) uint8 in the stored layout.  moves (K, B): the rows of `Augmentation.sources`."""
        places = self.sources.index_select(0, moves.flatten()).view(pixels.shape)
        return pad(pixels, (0, 1)).gather(-1, places)

    def scaled(self, pixels: Tensor) -> Tensor:
        """uint8 (..., D) in the stored layout → float32 (..., D), channel by channel."""
        x = pixels.float() / self.white
        if self.normalise == "std":
            x = (x - self.mean) / self.deviation
        elif self.normalise == "half":
            x = (x - 0.5) / 0.5
        return x if self.order is None else x.unflatten(-1, (-1, self.channels)).transpose(-1, -2).flatten(-2)


def room_for(runs: int, images: int, pixels: int, device: torch.device) -> Tensor:
    """Memory for the images of one task after another, (K, R, D), zeros, on the device."""
    return torch.zeros(runs, images, pixels, dtype=torch.uint8, device=device)


def laid_out(
    image_set: ImageSet,
    lessons: Sequence[Lesson],
    device: torch.device,
    held_out: bool = False,
    room: Tensor | None = None,
    order: NDArray[np.int64] | None = None,
) -> tuple[Tensor, Tensor]:
    """A task's images (K, N, D) uint8 and labels (K, N); images have shape (1, N, D) if every run uses the same.

    Permuting once a task costs less than permuting each batch, and a batch becomes a copy of whole rows.
    room: (K, R, D) with R ≥ N, memory for the images; all its R rows are then returned. New memory for each task would
        cost much of the time that filling it takes.
    order: the pixel order, as in `Pixels`; on a CPU only.
    """
    indices = [lesson.held_out if held_out else lesson.images for lesson in lessons]
    first: dict[tuple[bytes, bytes], int] = {}  # the first run with the same images
    alike = [
        first.setdefault((index.tobytes(), b"" if lesson.pixels is None else lesson.pixels.tobytes()), place)
        for place, (index, lesson) in enumerate(zip(indices, lessons, strict=True))
    ]
    count, pixels = len(indices[0]), int(np.prod(image_set.train_images.shape[1:]))
    if room is None:
        room = room_for(len(lessons), count, pixels, device)
    shown_in = room[: len(lessons) if len(first) > 1 else 1]
    labels = labels_of(lessons, device, held_out)
    sources = [source_of(image_set, lesson, held_out) for lesson in lessons[: len(shown_in)]]
    if device.type != "cpu":
        lay_out(shown_in, sources, indices[: len(shown_in)], lessons[: len(shown_in)])
        return shown_in, labels
    images = shown_in.numpy()
    taken: dict[bytes, NDArray[np.uint8]] = {}  # images taken from the set, once for all runs that share them
    for place, lesson in enumerate(lessons[: len(images)]):
        shown, index = images[place, :count], indices[place]
        if alike[place] < place:
            shown[...] = images[alike[place], :count]
            continue
        source = sources[place]
        own = lesson.pixels if order is None else order if lesson.pixels is None else lesson.pixels[order]
        if own is None:  # with mode="clip" NumPy writes in place; by default it checks first, in a copy
            np.take(source, index, axis=0, out=shown, mode="clip")
        else:
            if index.tobytes() not in taken:
                taken[index.tobytes()] = source[index]
            reordered(taken[index.tobytes()], own, shown)
    return shown_in, labels


def source_of(image_set: ImageSet, lesson: Lesson, held_out: bool) -> NDArray[np.uint8]:
    """All images (all, D) of the split that a lesson's indices refer to."""
    images = image_set.test_images if held_out and lesson.held_out_split == "test" else image_set.train_images
    return images.reshape(len(images), -1)


def labels_of(lessons: Sequence[Lesson], device: torch.device, held_out: bool) -> Tensor:
    """A task's labels (K, N)."""
    labels = [torch.from_numpy(lesson.held_out_labels if held_out else lesson.labels) for lesson in lessons]
    return torch.stack(labels).to(device)


# A task's images, laid out by a GPU: it permutes pixels fast, and images cross the bus once for all runs.
#
# Permuting 10,000 digits for each of 512 runs takes a core 2.6 s, five times as long as their steps take a GPU.
#
# Legend: K runs, N images, R rows allocated for them, D pixels (C·H·W).


def lay_out(
    room: Tensor, sources: Sequence[NDArray[np.uint8]], indices: Sequence[NDArray[np.int64]], lessons: Sequence[Lesson]
) -> None:
    """Copies each run's images into room (K, R, D), R ≥ N: images of its source (all, D) at its indices (N,), with the
    pixel order of its lesson.
    """
    there: dict[tuple[int, bytes], Tensor] = {}  # images on the device, once for all runs that share them
    for rows, source, index, lesson in zip(room, sources, indices, lessons, strict=True):
        key = source.ctypes.data, index.tobytes()
        if key not in there:
            there[key] = torch.from_numpy(source[index]).to(room.device)
        if lesson.pixels is None:
            rows[: len(index)].copy_(there[key])
        else:
            order = torch.from_numpy(lesson.pixels).to(room.device)
            torch.index_select(there[key], 1, order, out=rows[: len(index)])
