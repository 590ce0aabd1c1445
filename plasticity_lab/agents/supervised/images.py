"""Images on the device: laid out for a task, and turned into floats a batch at a time.

Legend: K runs, N images, R rows of room for them, D pixels (C·H·W).
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.supervised.images_on_gpu import lay_out
from plasticity_lab.benchmarks.labelled.benchmark import Lesson
from plasticity_lab.data.image_set import ImageSet


class Pixels:
    """Bytes → floats, as `normalise` says: raw (0 to 1), std (each channel standardised), half (−1 to 1).

    structure_key: all of that in words; pixels of equal words are the same function.
    """

    def __init__(self, image_set: ImageSet, normalise: str, device: torch.device) -> None:
        self.white = float(image_set.white)
        self.normalise = normalise
        self.structure_key = [normalise, str(self.white), str(image_set.train_images.shape[1:])]
        if normalise == "std":
            per_channel = int(np.prod(image_set.train_images.shape[2:]))
            self.structure_key += [str(values.tolist()) for values in (image_set.mean, image_set.std)]
            self.mean, self.deviation = (
                torch.from_numpy(np.repeat(values, per_channel)).to(device)
                for values in (image_set.mean, image_set.std)
            )

    def scaled(self, pixels: Tensor, by_pixel: bool = False) -> Tensor:
        """uint8 (..., D) → float32 (..., D).  by_pixel: (..., D, N) → (..., D, N)."""
        x = pixels.float() / self.white
        if self.normalise == "std":
            mean, deviation = (each.unsqueeze(-1) if by_pixel else each for each in (self.mean, self.deviation))
            return (x - mean) / deviation
        if self.normalise == "half":
            return (x - 0.5) / 0.5
        return x


def room_for(runs: int, images: int, pixels: int, device: torch.device) -> Tensor:
    """Where the images of one task after another are laid out, (K, R, D), zeros: on the device."""
    return torch.zeros(runs, images, pixels, dtype=torch.uint8, device=device)


def laid_out(
    image_set: ImageSet,
    lessons: Sequence[Lesson],
    device: torch.device,
    held_out: bool = False,
    room: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """A task's images (K, N, D) uint8 and labels (K, N); images (1, N, D) where every run sees the same.

    Permuting once a task costs less than permuting each batch, and a batch becomes a copy of whole rows. room:
    (K, R, D) with R ≥ N, where the images are written and stay; all its R rows are returned then. Fresh memory for each
    task would cost a good part of what filling it costs.
    """
    indices = [lesson.held_out if held_out else lesson.images for lesson in lessons]
    first: dict[tuple[bytes, bytes], int] = {}  # the first run that sees the same
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
    taken: dict[bytes, NDArray[np.uint8]] = {}  # out of the set, once for all runs that share them
    for place, lesson in enumerate(lessons[: len(images)]):
        shown, index = images[place, :count], indices[place]
        if alike[place] < place:
            shown[...] = images[alike[place], :count]
            continue
        source = sources[place]
        # A mode lets NumPy write in place; without one it checks first, in a copy. No image or pixel is out of range.
        if lesson.pixels is None:
            np.take(source, index, axis=0, out=shown, mode="clip")
        else:
            if index.tobytes() not in taken:
                taken[index.tobytes()] = source[index]
            np.take(taken[index.tobytes()], lesson.pixels, axis=1, out=shown, mode="clip")
    return shown_in, labels


def source_of(image_set: ImageSet, lesson: Lesson, held_out: bool) -> NDArray[np.uint8]:
    """All images (all, D) among which a lesson's are."""
    images = image_set.test_images if held_out and lesson.held_out_split == "test" else image_set.train_images
    return images.reshape(len(images), -1)


def labels_of(lessons: Sequence[Lesson], device: torch.device, held_out: bool) -> Tensor:
    """A task's labels (K, N)."""
    labels = [torch.from_numpy(lesson.held_out_labels if held_out else lesson.labels) for lesson in lessons]
    return torch.stack(labels).to(device)
