"""Images on the device: laid out for a task, and turned into floats a batch at a time.

Legend: K runs, N images, D pixels (C·H·W).
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.benchmarks.benchmark import Lesson
from plasticity_lab.data.image_set import ImageSet


class Pixels:
    """Bytes → floats, as `normalise` says: raw (0 to 1), std (each channel standardised), half (−1 to 1)."""

    def __init__(self, image_set: ImageSet, normalise: str, device: torch.device) -> None:
        self.white = float(image_set.white)
        self.normalise = normalise
        if normalise == "std":
            per_channel = int(np.prod(image_set.train_images.shape[2:]))
            self.mean, self.deviation = (
                torch.from_numpy(np.repeat(values, per_channel)).to(device)
                for values in (image_set.mean, image_set.std)
            )

    def scaled(self, pixels: Tensor) -> Tensor:
        """uint8 (..., D) → float32 (..., D)."""
        x = pixels.float() / self.white
        if self.normalise == "std":
            return (x - self.mean) / self.deviation
        if self.normalise == "half":
            return (x - 0.5) / 0.5
        return x


def laid_out(
    image_set: ImageSet, lessons: Sequence[Lesson], device: torch.device, held_out: bool = False
) -> tuple[Tensor, Tensor]:
    """A task's images (K, N, D) uint8 and labels (K, N); (1, N, D) where every run sees the same images.

    Permuting once a task costs less than permuting each batch, and a batch becomes a copy of whole rows.
    """
    kept: dict[tuple[bytes, bytes], Tensor] = {}
    images = []
    for lesson in lessons:
        index = lesson.held_out if held_out else lesson.images
        from_test = held_out and lesson.held_out_split == "test"
        key = (index.tobytes(), b"" if lesson.pixels is None else lesson.pixels.tobytes())
        if key not in kept:
            source = image_set.test_images if from_test else image_set.train_images
            rows = source.reshape(len(source), -1)[index]
            kept[key] = torch.from_numpy(rows if lesson.pixels is None else np.take(rows, lesson.pixels, axis=1))
        images.append(kept[key])
    labels = [torch.from_numpy(lesson.held_out_labels if held_out else lesson.labels) for lesson in lessons]
    stacked = images[0].unsqueeze(0) if len(kept) == 1 else torch.stack(images)
    return stacked.to(device), torch.stack(labels).to(device)
