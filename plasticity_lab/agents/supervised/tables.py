"""A chunk's data in tensors of fixed size, one row per step: a compiled step sees one shape for chunks of any length.

Legend: K runs, S rows (the most steps of a chunk), B examples of a batch, rounded up to a multiple of 4.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.supervised.step import EARLIER, SHARE
from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark
from plasticity_lab.benchmarks.labelled.stream import Chunk
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.records.rows import Rows
from plasticity_lab.stacking.run_axis import aligned


class Tables:
    """The tensors that a chunk's steps read ("images", "labels", "weights", "position", …) and write ("loss",
    "right").
    """

    def __init__(self, rows: int, runs: int, batch_size: int, device: torch.device) -> None:
        self.rows, self.device = rows, device
        self.at = [torch.tensor([row], device=device) for row in range(rows)]
        self.count = torch.zeros(1, dtype=torch.int64, device=device)  # an index that the device counts
        self.examples = aligned(batch_size)
        shape = rows, runs, self.examples
        self.measured = {
            "loss": torch.zeros(shape, device=device),
            "right": torch.zeros(shape, dtype=torch.bool, device=device),
        }

    def of(self, chunk: Chunk, labels_KN: Tensor, offsets_K: Tensor, corrections: Mapping[str, Tensor]) -> Mapping:
        """The tables of a chunk. labels: labels of the task's images. offsets: each run's first row in the images."""
        batches_KSB, there_SB = aligned_batches(chunk)
        images_KSB = torch.from_numpy(batches_KSB).to(self.device)
        labels_KSB = torch.gather(labels_KN, 1, images_KSB.flatten(1)).view_as(images_KSB)
        # 1/n for a batch's n examples, 0 for padding: a batch's loss is the mean over its examples.
        weights_SB = (there_SB / chunk.counts[:, None]).astype(np.float32)
        tables = {
            "images": (images_KSB + offsets_K.view(-1, 1, 1)).transpose(0, 1),
            "labels": labels_KSB.transpose(0, 1),
            "weights": torch.from_numpy(weights_SB).to(self.device),
            "position": torch.arange(chunk.first, chunk.first + chunk.steps, device=self.device),
            **corrections,
        }
        return {name: self._filled(values) for name, values in tables.items()}

    def rows_of(self, chunk: Chunk) -> Rows:
        """The measurements of the chunk's steps per run: means over the examples without padding, (steps, K).

        Computed on the host in float64: inside a compiled step, the last bit of a mean may depend on the pack's width.
        """
        losses, rights = (self.measured[name][: chunk.steps].cpu().numpy() for name in ("loss", "right"))
        there = aligned_batches(chunk)[1][:, None, :]
        counts = chunk.counts[:, None]
        return Rows(
            {
                "accuracy": (rights & there).sum(axis=2) / counts,
                "loss": np.where(there, losses, 0).astype(np.float64).sum(axis=2) / counts,
            }
        )

    def _filled(self, values: Tensor) -> Tensor:
        """(steps, ...) → (S, ...), filled with zeros at the end."""
        full = torch.zeros((self.rows, *values.shape[1:]), dtype=values.dtype, device=self.device)
        full[: len(values)] = values
        return full


class DrawnByEpoch:
    """Numbers that are drawn for a whole epoch, and cut to a chunk: they do not depend on its chunks.

    draw: (chunk, number of batches of its epoch) → the numbers of the epoch, (K, batches, ...).
    """

    def __init__(self, benchmark: LabelledBenchmark, draw: Callable[[Chunk, int], NDArray[np.int64]]) -> None:
        self.benchmark, self.draw = benchmark, draw
        self._epoch, self._drawn = -1, np.zeros((0, 0), np.int64)

    def of(self, chunk: Chunk) -> NDArray[np.int64]:
        """The numbers of a chunk, (K, S, ...)."""
        batches = self.benchmark.batches_of(chunk.task)
        if chunk.epoch != self._epoch:
            self._epoch, self._drawn = chunk.epoch, self.draw(chunk, batches)
        within = (chunk.first - self.benchmark.steps_before(chunk.task)) % batches
        return self._drawn[:, within : within + chunk.steps]


def second_batches(benchmark: LabelledBenchmark, seeds: Sequence[int], chunk: Chunk, batches: int) -> NDArray[np.int64]:
    """The images of the second batches of a chunk's epoch, (K, batches, B): another shuffle of the same task.

    seeds: the runs' stream seeds.
    """
    images, there = np.zeros((len(seeds), batches * benchmark.batch_size), np.int64), benchmark.images_of(chunk.task)
    for row, seed in zip(images, seeds, strict=True):
        row[:there] = host_stream(seed, "second batch", chunk.epoch).permutation(there)
    return images.reshape(len(images), batches, -1)


def moves_of(seeds: Sequence[int], moves: int, shape: tuple[int, int], chunk: Chunk) -> NDArray[np.int64]:
    """The augmentation's moves in a chunk's epoch, (K, batches, B).

    seeds: the runs' stream seeds. moves: their number. shape: (batches, B), B with padding.
    """
    return np.stack([host_stream(seed, "augment", chunk.epoch).integers(moves, size=shape) for seed in seeds])


def transition_rows(
    shares_KSB: NDArray[np.float32], earlier_KSB: NDArray[np.int64], labels_KSB: NDArray[np.int64], device: torch.device
) -> dict[str, Tensor]:
    """The rows of a transition's tables: each example's share, and the image and label of the task before.

    The shares may have fewer columns than the images: further examples are wholly the task's own.
    """
    empty = earlier_KSB.shape[2] - shares_KSB.shape[2]
    shares_KSB = np.pad(shares_KSB, ((0, 0), (0, 0), (0, empty)), constant_values=1)
    rows = {SHARE: shares_KSB, f"{EARLIER}images": earlier_KSB, f"{EARLIER}labels": labels_KSB}
    return {name: torch.from_numpy(np.swapaxes(values, 0, 1).copy()).to(device) for name, values in rows.items()}


def aligned_batches(chunk: Chunk) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The chunk's batches (K, steps, B) with B rounded up, and a mask of the examples among the B (steps, B)."""
    empty = aligned(chunk.images.shape[2]) - chunk.images.shape[2]
    batches_KSB = np.pad(chunk.images, ((0, 0), (0, 0), (0, empty)))
    return batches_KSB, np.arange(batches_KSB.shape[2]) < chunk.counts[:, None]
