"""Steps drawn from a ring, each that can be learned from as likely as any other.

Legend: K runs, B steps of a batch, D an observation's shape.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.randomness.host import host_stream
from plasticity_lab.replay.n_step import NStep
from plasticity_lab.replay.ring import EmptyMemory, Index, Ring

TRIES = 8
"""After this many draws without a usable step, all usable steps are counted and drawn from."""


@dataclass(frozen=True)
class Batch:
    """What a batch is learned from.

    observations, following (K, B, D), in the body's dtype: what was shown, and what was shown n steps later. actions
    (K, B) or (K, B, A). returns, discount (K, B): the target is returns + discount · value(following). index: which
    steps they are.
    """

    observations: NDArray[Any]
    actions: NDArray[Any]
    returns: NDArray[np.float32]
    discount: NDArray[np.float32]
    following: NDArray[Any]
    index: Index


def drawn(ring: Ring, n_step: NStep, seeds: Sequence[int], size: int, *position: int, purpose: str = "replay") -> Index:
    """`size` usable steps of each run, any as likely as any other, one perhaps twice.

    A function of the run's seed (K of them), the purpose and the position alone, and of what the run's own part of the
    ring holds: no generator is kept, and a run draws the same in any pack. position: a new one for each batch, such as
    the number of the update. Raises EmptyMemory where a run has no usable step.
    """
    if ring.empty:
        raise EmptyMemory("The memory holds no step that could be learned from.")
    streams = [host_stream(seed, purpose, *position) for seed in seeds]
    there, found = ring.held * ring.environments, np.zeros((len(seeds), size), np.bool_)
    numbers = np.zeros(found.shape, np.int64)
    for _ in range(TRIES):
        for run in np.flatnonzero(~found.all(axis=1)):
            numbers[run] = np.where(found[run], numbers[run], streams[run].integers(there, size=size))
        found = n_step.usable(ring, _named(ring, numbers))
        if found.all():
            return _named(ring, numbers)
    usable = n_step.usable(ring, _named(ring, np.broadcast_to(np.arange(there), (len(seeds), there))))
    for run in np.flatnonzero(~found.all(axis=1)):
        among = np.flatnonzero(usable[run])
        if not len(among):
            raise EmptyMemory("The memory holds no step of a run that could be learned from.")
        numbers[run] = np.where(found[run], numbers[run], among[streams[run].integers(len(among), size=size)])
    return _named(ring, numbers)


def _named(ring: Ring, numbers: NDArray[np.int64]) -> Index:
    """Numbers from 0 to held · N − 1, environment after environment of each step from the oldest on, as an index."""
    steps, environments = np.divmod(numbers, ring.environments)
    return Index(ring.oldest + steps, environments)


def batch_of(ring: Ring, n_step: NStep, index: Index, gamma: NDArray[np.float64]) -> Batch:
    """What is to be learned from usable steps.  gamma: (K,)."""
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
    """A batch of steps drawn from the ring.  Raises EmptyMemory."""
    return batch_of(ring, n_step, drawn(ring, n_step, seeds, size, *position), gamma)
