"""The share of one process: its copies, and the memory for actions and results.

Legend: M copies of all processes together, D a frame's shape (`Body.frame`).
"""

import math
import mmap
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.body import Body

BYTES = 8
"""Largest size of a number of an action: float64, int64."""


class Shared:
    """Actions and results of a step of M copies of a body, in a file that several processes have open.

    observations (M, D), rewards (M,), terminated, life_lost (M,). Each step defines the type and the shape of its
    actions.
    """

    def __init__(self, file: int, body: Body, copies: int) -> None:
        shown = copies, *body.frame
        counts = (copies, copies * math.prod(body.action) * BYTES, math.prod(shown), copies, copies)
        kinds = [np.dtype(kind) for kind in (np.float64, np.uint8, body.dtype, np.bool_, np.bool_)]
        lines = [-(-count * kind.itemsize // 64) for count, kind in zip(counts, kinds, strict=True)]  # of 64 bytes
        places = np.cumsum([0, *(64 * count for count in lines)]).tolist()
        if os.fstat(file).st_size < places[-1]:
            os.truncate(file, places[-1])
        held = mmap.mmap(file, places[-1])
        self.rewards, self._actions, observations, self.terminated, self.life_lost = (
            np.frombuffer(held, kind, count, place) for kind, count, place in zip(kinds, counts, places, strict=False)
        )
        self.observations = observations.reshape(shown)

    def actions(self, share: slice, kind: str, shape: tuple[int, ...]) -> NDArray[Any]:
        """The actions of these copies, with that type and that shape for each."""
        size = np.dtype(kind).itemsize * int(np.prod(shape))
        return self._actions[share.start * size : share.stop * size].view(kind).reshape(-1, *shape)


class Share:
    """The copies of one process.  copies: their slice of the M."""

    def __init__(self, body: Body, copies: slice, shared: Shared) -> None:
        self.simulation: Any = body.simulation(copies.stop - copies.start)
        self.copies, self._body, self._shared = copies, body, shared

    def step(self, kind: str, shape: tuple[int, ...]) -> None:
        """One step of these copies, by the actions and into the results that are shared."""
        shared, own = self._shared, self.copies
        found = self.simulation.step(shared.actions(own, kind, shape))
        shared.observations[own], shared.rewards[own], shared.terminated[own] = found
        if self._body.has_lives:
            shared.life_lost[own] = self.simulation.life_lost()
