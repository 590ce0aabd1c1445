"""The share of one process: its copies, and the memory for actions and results.

Legend: M copies of all processes together, D a frame's shape (`Body.frame`).
"""

import math
import mmap
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.body import Body, Simulation

BYTES = 8
"""Largest size of a number of an action: float64, int64."""


@dataclass(frozen=True)
class Layout:
    """The layout of the shared memory. copies: M. numbers: numbers of an action. frame, dtype: shape and type of a
    copy's frame. has_lives: whether it stores lost lives too.
    """

    copies: int
    numbers: int
    frame: tuple[int, ...]
    dtype: str = "float32"
    has_lives: bool = False


def layout_of(body: Body, copies: int) -> Layout:
    """The layout for a number of copies of a body."""
    return Layout(copies, math.prod(body.action), body.frame, body.dtype, body.has_lives)


class Shared:
    """Actions and results of a step, in a file that several processes have open.

    observations (M, D), rewards (M,), terminated, life_lost (M,). Each step defines the type and the shape of its
    actions.
    """

    def __init__(self, file: int, layout: Layout) -> None:
        shown, copies = (layout.copies, *layout.frame), layout.copies
        counts = (copies, copies * layout.numbers * BYTES, int(np.prod(shown)), copies, copies)
        kinds = [np.dtype(kind) for kind in (np.float64, np.uint8, layout.dtype, np.bool_, np.bool_)]
        lines = [-(-count * kind.itemsize // 64) for count, kind in zip(counts, kinds, strict=True)]  # of 64 bytes
        places = np.cumsum([0, *(64 * count for count in lines)]).tolist()
        if os.fstat(file).st_size < places[-1]:
            os.truncate(file, places[-1])
        held = mmap.mmap(file, places[-1])
        self.rewards, self._actions, observations, self.terminated, self.life_lost = (
            np.frombuffer(held, kind, count, place) for kind, count, place in zip(kinds, counts, places, strict=False)
        )
        self.observations, self.has_lives = observations.reshape(shown), layout.has_lives

    def actions(self, share: slice, kind: str, shape: tuple[int, ...]) -> NDArray[Any]:
        """The actions of these copies, with that type and that shape for each."""
        size = np.dtype(kind).itemsize * int(np.prod(shape))
        return self._actions[share.start * size : share.stop * size].view(kind).reshape(-1, *shape)


class Share:
    """The copies of one process.  copies: their slice of the M; build: the number of copies → their simulation."""

    def __init__(self, build: Callable[[int], Simulation], copies: slice, shared: Shared) -> None:
        self.simulation: Any = build(copies.stop - copies.start)
        self.copies, self._shared = copies, shared

    def step(self, kind: str, shape: tuple[int, ...]) -> None:
        """One step of these copies, by the actions and into the results that are shared."""
        shared, own = self._shared, self.copies
        found = self.simulation.step(shared.actions(own, kind, shape))
        shared.observations[own], shared.rewards[own], shared.terminated[own] = found
        if shared.has_lives:
            shared.life_lost[own] = self.simulation.life_lost()
