"""Uniform sampling from a ring: every usable step has the same probability.

Legend: K runs, B steps of a batch, D an observation's shape.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.kernels import replay as kernel
from plasticity_lab.randomness.host import host_stream, stream_key
from plasticity_lab.replay.n_step import NStep
from plasticity_lab.replay.ring import EmptyMemory, Index, Ring

TRIES = 8
"""After this number of draws that include an unusable step, all usable steps are listed and sampled from."""


@dataclass(frozen=True)
class Batch:
    """A batch of steps for one update.

    observations, following: (K, B, D), in the environment's dtype; observations of the steps and of n steps later.
    actions: (K, B) or (K, B, A). returns, discount: (K, B); the target is returns + discount · value(following). index:
    the steps.
    """

    observations: NDArray[Any]
    actions: NDArray[Any]
    returns: NDArray[np.float32]
    discount: NDArray[np.float32]
    following: NDArray[Any]
    index: Index


def drawn(ring: Ring, n_step: NStep, seeds: Sequence[int], size: int, *position: int, purpose: str = "replay") -> Index:
    """Samples `size` usable steps of each run uniformly, with replacement.

    The result depends only on the run's seed (K seeds), the purpose, the position and the run's part of the ring. No
    generator is stored, and a run draws the same steps in any pack. position: different for each batch, such as the
    number of the update. Raises EmptyMemory if a run has no usable step.
    """
    if ring.empty:
        raise EmptyMemory("The memory holds no step that could be learned from.")
    there = ring.held * ring.environments
    streams, numbers, found = _first_try(ring, n_step, seeds, size, purpose, *position)
    for _ in range(TRIES - 1):
        if found.all():
            return _named(ring, numbers)
        for run in np.flatnonzero(~found.all(axis=1)).tolist():
            numbers[run] = np.where(found[run], numbers[run], streams(run).integers(there, size=size))
        found = n_step.usable(ring, _named(ring, numbers))
    if found.all():
        return _named(ring, numbers)
    usable = n_step.usable(ring, _named(ring, np.broadcast_to(np.arange(there), (len(seeds), there))))
    for run in np.flatnonzero(~found.all(axis=1)).tolist():
        among = np.flatnonzero(usable[run])
        if not len(among):
            raise EmptyMemory("The memory holds no step of a run that could be learned from.")
        numbers[run] = np.where(found[run], numbers[run], among[streams(run).integers(len(among), size=size)])
    return _named(ring, numbers)


Streams = Callable[[int], np.random.Generator]
"""Run → its stream, after its first numbers."""


def _first_try(
    ring: Ring, n_step: NStep, seeds: Sequence[int], size: int, purpose: str, *position: int
) -> tuple[Streams, NDArray[np.int64], NDArray[np.bool_]]:
    """The first numbers of each run's stream, and whether these steps are usable, (K, B) each.

    Our kernel computes them without a generator; then a run has one only if it needs further numbers.
    """
    there = ring.held * ring.environments

    made: dict[int, np.random.Generator] = {}

    def stream(run: int) -> np.random.Generator:
        if run not in made:
            made[run] = host_stream(seeds[run], purpose, *position)
        return made[run]

    if kernel.is_used() and there < 2**32:
        keys, flags = [stream_key(seed, purpose, *position) for seed in seeds], ring.arrays
        numbers, found = kernel.draw_uniformly(
            keys, flags["first"], flags["terminated"], flags["truncated"], flags["life_lost"],
            n_step.life_loss_is_terminal, ring.oldest, ring.end, n_step.n, ring.body.stack, size,
        )  # fmt: skip
        for run in np.flatnonzero(~found.all(axis=1)).tolist():
            stream(run).integers(there, size=size)
        return stream, numbers, found
    numbers = np.stack([stream(run).integers(there, size=size) for run in range(len(seeds))])
    return stream, numbers, n_step.usable(ring, _named(ring, numbers))


def _named(ring: Ring, numbers: NDArray[np.int64]) -> Index:
    """The index for numbers 0 … held · N − 1, which count all environments of the oldest step first."""
    steps, environments = np.divmod(numbers, ring.environments)
    return Index(ring.oldest + steps, environments)


def batch_of(ring: Ring, n_step: NStep, index: Index, gamma: NDArray[np.float64]) -> Batch:
    """The batch of the given usable steps.  gamma: (K,)."""
    found = n_step.of(ring, index, gamma)
    return Batch(
        observations=ring.observations(index),
        actions=ring.of("action", index),
        returns=found.returns,
        discount=found.discount,
        following=ring.observations(found.following),
        index=index,
    )


def sample(
    ring: Ring, n_step: NStep, seeds: Sequence[int], size: int, gamma: NDArray[np.float64], *position: int
) -> Batch:
    """A batch of steps sampled uniformly from the ring.  Raises EmptyMemory."""
    return batch_of(ring, n_step, drawn(ring, n_step, seeds, size, *position), gamma)
