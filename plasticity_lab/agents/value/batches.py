"""Batches drawn from a pack's replay memory, as tensors that an update reads.

Legend: K runs, B steps of a batch, P of them padded, D numbers of an observation, flattened.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.evenly_spread import PROBE
from plasticity_lab.replay.n_step import NStep
from plasticity_lab.replay.ring import Index, Ring
from plasticity_lab.replay.uniform import batch_of, drawn
from plasticity_lab.stacking.run_axis import aligned


class Batches:
    """Draws `size` steps of each run for an update, each as likely as any other that can be learned from.

    seeds: of the draws; which is a function of seed and update. gamma: (K,).
    """

    def __init__(self, ring: Ring, n_step: NStep, seeds: Sequence[int], size: int, gamma: NDArray[np.float64]) -> None:
        self.ring, self.n_step, self.seeds, self.size, self.gamma = ring, n_step, seeds, size, gamma
        self.padded = aligned(size)
        """P."""
        self._weight = torch.cat([torch.full((size,), 1 / size), torch.zeros(self.padded - size)])

    def of(self, update: int, device: torch.device) -> dict[str, Tensor]:
        """The batch of an update, counted from 0: "x", "following" (K, P, D) in the body's own type; "action",
        "returns", "discount" (K, P); "weight" (P,): 1 / B, 0 of rows that only fill up.

        Raises EmptyMemory where a run has nothing that can be learned from.
        """
        index = drawn(self.ring, self.n_step, self.seeds, self.size, update)
        found = self._learned_from(index)
        missing = self.padded - self.size
        if missing:
            fill = ((0, 0), (0, missing))
            found = {name: np.pad(value, (*fill, (0, 0))[: value.ndim]) for name, value in found.items()}
        return _tensors(found, self._weight, device)

    def probe(self, updates: int, device: torch.device) -> dict[str, Tensor]:
        """`PROBE` steps to look at, as `of` gives those of an update; all count alike, with a weight of 1.

        updates: before it.  Raises EmptyMemory.
        """
        index = drawn(self.ring, self.n_step, self.seeds, PROBE, updates, purpose="probe")
        return _tensors(self._learned_from(index), torch.ones(PROBE), device)

    def _learned_from(self, index: Index) -> dict[str, NDArray[Any]]:
        """What stands at these steps, observations flattened."""
        batch = batch_of(self.ring, self.n_step, index, self.gamma)
        return {
            "x": batch.observations.reshape(*batch.observations.shape[:2], -1),
            "following": batch.following.reshape(*batch.following.shape[:2], -1),
            "action": batch.actions,
            "returns": batch.returns,
            "discount": batch.discount,
        }


def _tensors(found: Mapping[str, NDArray[Any]], weight: Tensor, device: torch.device) -> dict[str, Tensor]:
    tensors = {name: torch.from_numpy(value) for name, value in found.items()} | {"weight": weight}
    return {name: value.to(device) for name, value in tensors.items()}
