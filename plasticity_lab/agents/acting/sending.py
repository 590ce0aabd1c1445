"""Sends batches of a replay memory to a GPU, from pinned memory.

Legend: K runs, B steps of a batch, P rows of a padded batch, F frames of an observation, D numbers of an observation.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.acting.crossing import Crossing
from plasticity_lab.agents.acting.frames import Frames, frames_for, free_on
from plasticity_lab.replay.ring import Index, Ring

SETTLED = 4
"""Frames may go to the GPU from this batch on: after three updates, a compiled one is recorded, and the process has
reached its usual need of memory.
"""


class Sender:
    """Sends the batches of a memory.

    n_step: steps between the two observations of a step. rows: P. sharing: the number of processes that share the GPU.
    crossing: makes pinned memory.
    frames: how frames reach the GPU; None: whole stacks are sent, as with the first batches.
    """

    def __init__(
        self,
        ring: Ring,
        n_step: int,
        rows: int,
        device: torch.device,
        sharing: int = 1,
        crossing: Callable[[torch.device], Crossing] = Crossing,
    ) -> None:
        self.ring, self.n_step, self.rows, self.device, self.sharing = ring, n_step, rows, device, sharing
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        self.frames: Frames | None = None
        self._batches, self._new = 0, crossing
        self._crossings: dict[str, Crossing] = {}

    def add(self, frame: NDArray[Any]) -> None:
        """Takes the frames (K, N, ...) of the step that was last added to the ring."""
        if self.frames is not None:
            self.frames.add(frame)

    def forget(self) -> None:
        """Keeps nothing of the ring's content, since the ring was loaded."""
        if self.frames is not None:
            self.frames.forget()

    def batch(
        self, observations: Mapping[str, Index], values: Mapping[str, NDArray[Any]], numbers: int
    ) -> dict[str, Tensor]:
        """A batch for an update, see `sent`."""
        self._batches += 1
        if self._batches == SETTLED:
            self.frames = frames_for(self.ring, self.n_step, self.device, free_on(self.device, self.sharing))
        return self.sent("", observations, values, numbers)

    def sent(
        self, purpose: str, observations: Mapping[str, Index], values: Mapping[str, NDArray[Any]], numbers: int
    ) -> dict[str, Tensor]:
        """The observations of these steps (K, P, D), and the values (K, P, ...), on the GPU; rows of padding are 0.

        purpose: each has its own pinned memory. observations: name → steps (K, B). values: name → (K, B, ...). numbers:
        D; a ring of several bodies has longer rows.
        """
        if purpose not in self._crossings:
            self._crossings[purpose] = self._new(self.device)
        crossing = self._crossings[purpose]
        crossing.begin()
        padded = {name: filled(value, self.rows) for name, value in values.items()}
        if self.frames is None:
            whole = {name: self._observed(crossing, name, index, numbers) for name, index in observations.items()}
            return crossing.sent({**whole, **padded})
        places = {name: self._places(index) for name, index in observations.items()}
        sent = crossing.sent({**self.frames.entries(places, crossing), **padded})
        return self.frames.stacked(sent, places.keys())

    def _places(self, index: Index) -> NDArray[np.int64]:
        """The places of frames, (K, P, F); a row of padding has frames of zeros."""
        return filled(self.ring.places(index), self.rows, self.ring.places_of_frames)

    def _observed(self, crossing: Crossing, name: str, index: Index, numbers: int) -> NDArray[Any]:
        """Whole observations, (K, P, D), in pinned memory at once if nothing is added or left out."""
        ring, size = self.ring, index.step.shape[1]
        shape = (*index.step.shape, *ring.body.observation)
        out = crossing.array(name, shape, ring.body.dtype) if size == self.rows else None
        return filled(first(ring.observations(index, out).reshape(*shape[:2], -1), numbers), self.rows)


def filled(values: NDArray[Any], rows: int, fill: int = 0) -> NDArray[Any]:
    """Values (K, B, ...) with further rows of one number: (K, `rows`, ...)."""
    missing = rows - values.shape[1]
    if not missing:
        return values
    return np.pad(values, ((0, 0), (0, missing), *((0, 0),) * (values.ndim - 2)), constant_values=fill)


def first(values: NDArray[Any], count: int) -> NDArray[Any]:
    """The first numbers of each step, (K, B, count)."""
    return values if values.shape[2] == count else np.ascontiguousarray(values[:, :, :count])
