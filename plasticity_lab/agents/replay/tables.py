"""A chunk's data with arriving and replayed images in one batch: arriving images first, then replayed ones.

Legend: K runs, S steps of a chunk, A images that arrive at a step, R replayed images, B both, each rounded up to a
    multiple of 4.
"""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.supervised.tables import Tables, aligned_batches
from plasticity_lab.benchmarks.labelled.stream import Chunk
from plasticity_lab.records.rows import Rows
from plasticity_lab.stacking.run_axis import aligned

Indices = NDArray[np.int64]


class MixedTables(Tables):
    """`Tables` for batches of arriving and replayed images. batch_size, replayed: maximum number of each per step."""

    def __init__(self, rows: int, runs: int, batch_size: int, replayed: int, device: torch.device) -> None:
        self.arriving, self.behind = aligned(batch_size), aligned(replayed)
        super().__init__(rows, runs, self.arriving + self.behind, device)
        self.there_SB = np.zeros((0, self.arriving + self.behind), bool)

    def mixed(
        self,
        chunk: Chunk,
        images_KN: NDArray[np.int64],
        replayed_KSR: NDArray[np.int64],
        labels: NDArray[np.int64],
        corrections: Mapping[str, Tensor],
    ) -> Mapping[str, Tensor]:
        """The tables of a chunk.

        images: indices of the task's images in the set.
        replayed: indices of the replayed images in the set.
        labels: labels of the set.
        """
        images_KSB, there_SA = self.indices(chunk, images_KN, replayed_KSR), aligned_batches(chunk)[1]
        behind_SR = np.broadcast_to(np.arange(self.behind) < replayed_KSR.shape[2], (chunk.steps, self.behind))
        self.there_SB = np.concatenate([there_SA, behind_SR], axis=1)
        weights_SB = (self.there_SB / self.there_SB.sum(axis=1, keepdims=True)).astype(np.float32)
        tables = {
            "images": self.on_device(images_KSB),
            "labels": self.on_device(labels[images_KSB]),
            "weights": torch.from_numpy(weights_SB).to(self.device),
            "position": torch.arange(chunk.first, chunk.first + chunk.steps, device=self.device),
            **corrections,
        }
        return {name: self._filled(values) for name, values in tables.items()}

    def indices(self, chunk: Chunk, images_KN: Indices, replayed_KSR: Indices) -> Indices:
        """The images of each step in the set, (K, S, B); the arguments as in `mixed`."""
        batches_KSA = aligned_batches(chunk)[0]
        arriving_KSA = np.take_along_axis(images_KN, batches_KSA.reshape(len(images_KN), -1), axis=1)
        empty = self.behind - replayed_KSR.shape[2]
        behind_KSR = np.pad(replayed_KSR, ((0, 0), (0, 0), (0, empty)))
        return np.concatenate([arriving_KSA.reshape(batches_KSA.shape), behind_KSR], axis=2)

    def on_device(self, values_KSB: Indices) -> Tensor:
        """(K, S, B) → (S, K, B)."""
        return torch.from_numpy(values_KSB.swapaxes(0, 1)).to(self.device)

    def rows_of(self, chunk: Chunk) -> Rows:
        """Means over each step's images, (S, K): "accuracy" over arriving images, "loss" over arriving and replayed
        images.

        For the chunk of the last call of `mixed`.
        """
        losses, rights = (self.measured[name][: chunk.steps].cpu().numpy() for name in ("loss", "right"))
        there, counts = self.there_SB[:, None, :], self.there_SB.sum(axis=1)[:, None]
        new = slice(self.arriving)
        return Rows(
            {
                "accuracy": (rights & there)[..., new].sum(axis=2) / chunk.counts[:, None],
                "loss": np.where(there, losses, 0).astype(np.float64).sum(axis=2) / counts,
            }
        )
