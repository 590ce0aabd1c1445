"""Prioritised replay: samples steps in proportion to priorities that follow from their last loss.

Legend: K runs, N environments per run, L rows of the ring, B steps of a batch.

Source: Schaul et al. 2016, as in Dopamine (Castro et al. 2018). A priority is √(loss + 1e-10). A step that was not yet
in a batch has the largest priority so far (1 at first). Sampling is stratified. The weight of each example is
1 / √(priority + 1e-10), divided by the largest weight of its batch.

Only usable steps have a priority, so no sampled step is rejected: `added` and `NStep.usable` agree on every step.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.kernels import replay as kernel
from plasticity_lab.randomness.host import host_stream, stream_key
from plasticity_lab.replay.n_step import NStep
from plasticity_lab.replay.ring import EmptyMemory, Index, Ring

SMALLEST = 1e-10
"""Added to a loss and to a priority, as in Dopamine: steps with a small loss are still sampled sometimes."""


class Prioritised:
    """The priorities of the steps in a ring: call `added` after each new step, `learned` after each update."""

    def __init__(self, ring: Ring, n_step: NStep) -> None:
        self.ring, self.n_step = ring, n_step
        self._priorities = Priorities(ring.runs, ring.rows * ring.environments)
        self._largest = np.ones(ring.runs, np.float32)
        # The first step of each environment's current episode with a whole observation in the ring: the begin of the
        # episode, or the begin of the ring plus the frames that its first observations lack.
        self._begun = np.zeros((ring.runs, ring.environments), np.int64)

    def added(self) -> None:
        """Updates the priorities for the step that was last added to the ring, and for the step that it replaced."""
        ring, n = self.ring, self.n_step.n
        newest = ring.end - 1
        first, ends = ring.of("first", newest), self.n_step.terminal(ring, newest)
        if ring.held == 1:  # a ring that begins within an episode lacks the frames of its first observations
            self._begun[:] = np.where(first, newest, newest + ring.body.stack - 1)
        else:
            self._begun = np.where(first, newest, self._begun)
        complete = (newest - n >= self._begun) & (newest - n >= ring.oldest)
        steps = [newest] if not ends.any() else [*range(max(ring.oldest, newest - n + 1), newest + 1)]
        enters = [ends & (step >= self._begun) for step in steps]
        if complete.any():
            steps, enters = [newest - n, *steps], [complete, *enters]
        places = self._places_of(steps)
        own = self._priorities.at(places)
        kept = own.copy()
        kept[:, -ring.environments :] = 0  # the new step has taken this place of another
        enter = np.concatenate(enters, axis=1)
        self._change(places, own, np.where(enter & (kept == 0), self._largest[:, None], kept))
        self._leave()

    def drawn(self, seeds: Sequence[int], size: int, *position: int, which: str = "") -> Index:
        """Samples `size` steps of each run in proportion to their priorities, with replacement.

        The result depends only on the run's seed (K seeds), the position and the run's part of the memory. position:
        different for each batch. which: a word before the purpose of the draw. Raises EmptyMemory if a run has no
        usable step.
        """
        if self.ring.empty or not self._priorities.total.all():
            raise EmptyMemory("The memory holds no step of a run that could be learned from.")
        places = self._priorities.drawn(seeds, size, f"{which}prioritised replay", *position)
        rows, environments = np.divmod(places, self.ring.environments)
        steps = self.ring.oldest + (rows - self.ring.oldest) % self.ring.rows
        return Index(steps, environments)

    def importance(self, index: Index) -> NDArray[np.float32]:
        """The importance weight of each step of a batch, (K, B), a factor of its loss; the largest of each run is 1."""
        weights = 1 / np.sqrt(self._priorities.of(self._places(index)).astype(np.float64) + SMALLEST)
        return (weights / weights.max(axis=1, keepdims=True)).astype(np.float32)

    def learned(self, index: Index, losses: NDArray[np.float32]) -> None:
        """Sets the priorities of steps from their losses, (K, B).

        A loss that is not finite gives the largest priority so far: its run is unstable.
        """
        with np.errstate(invalid="ignore"):
            priorities = np.sqrt(losses.astype(np.float64) + SMALLEST).astype(np.float32)
        priorities = np.where(np.isfinite(priorities), priorities, self._largest[:, None])
        self._largest = np.maximum(self._largest, priorities.max(axis=1))
        self._priorities.put(self._places(index), priorities)

    def state(self) -> dict[str, NDArray[Any]]:
        """The state for `load`: copies of the priorities, the largest ones, and the first steps of current episodes."""
        return {**self._priorities.state(), "largest": self._largest.copy(), "begun": self._begun.copy()}

    def load(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restores the result of `state`; removes all priorities if the ring is empty, as after a lost memory."""
        if self.ring.empty:
            self.clear()
            return
        self._priorities.load(state)
        self._largest, self._begun = state["largest"].copy(), state["begun"].copy()

    def clear(self) -> None:
        """Resets all priorities, as in a new object."""
        self._priorities.clear()
        self._largest[:] = 1
        self._begun[:] = 0

    def _leave(self) -> None:
        """Sets the priority of the oldest steps to 0 until an episode begins: their first frames were overwritten."""
        ring = self.ring
        steps = [*range(ring.oldest, min(ring.oldest + ring.body.stack - 1, ring.end))]
        if not steps:
            return
        first = np.stack([ring.of("first", step) for step in steps], axis=1)
        whole = np.logical_or.accumulate(first, axis=1).reshape(ring.runs, -1)
        places = self._places_of(steps)
        own = self._priorities.at(places)
        self._change(places, own, np.where(whole, own, np.float32(0)))

    def _change(self, places: NDArray[np.int64], own: NDArray[np.float32], to: NDArray[np.float32]) -> None:
        """Sets the priorities `own` (K, P) of these different places (P,) of every run to others."""
        changed = (to != own).any(axis=0)
        if changed.any():
            self._priorities.put(np.array([places[changed]] * self.ring.runs), to[:, changed])

    def _places_of(self, steps: Sequence[int]) -> NDArray[np.int64]:
        """The places of these S steps in every environment, (S·N,)."""
        rows = np.array(steps)[:, None] % self.ring.rows
        return (rows * self.ring.environments + np.arange(self.ring.environments)).reshape(-1)

    def _places(self, index: Index) -> NDArray[np.int64]:
        return index.step % self.ring.rows * self.ring.environments + index.environment


# Priorities of stored steps, and places sampled in proportion to them.
#
# Legend: K runs, M places per run, C blocks of `BLOCK` places, B places sampled or changed at once.

BLOCK = 256
"""The number of places with one common sum. A change sums one block; a draw sums all blocks and searches one."""


class Priorities:
    """A priority ≥ 0 for each of M places of K runs; a place with priority 0 is never sampled.

    Sums are accumulated one by one in float64, block by block, and never changed by a difference. So a run's draws are
    bitwise equal in any pack, and before and after a checkpoint.
    """

    def __init__(self, runs: int, places: int) -> None:
        self.places, blocks = places, -(-places // BLOCK)
        self._values = np.zeros((runs, blocks, BLOCK), np.float32)
        self._sums = np.zeros((runs, blocks), np.float64)
        self._runs = np.arange(runs)[:, None]

    @property
    def values(self) -> NDArray[np.float32]:
        """The priorities of all places, (K, M); a view, only for reading."""
        return self._values.reshape(len(self._values), -1)[:, : self.places]

    @property
    def total(self) -> NDArray[np.float64]:
        """The sum over all places of each run, (K,)."""
        return np.add.accumulate(self._sums, axis=1)[:, -1]

    def of(self, places: NDArray[np.int64]) -> NDArray[np.float32]:
        """The priorities of these places, (K, B)."""
        return self._values[self._runs, places // BLOCK, places % BLOCK]

    def at(self, places: NDArray[np.int64]) -> NDArray[np.float32]:
        """The priorities of the same places (P,) of every run, (K, P)."""
        return self._values.reshape(len(self._values), -1).take(places, axis=1)

    def put(self, places: NDArray[np.int64], values: NDArray[np.float32]) -> None:
        """Sets the priorities (K, B) of these places (K, B); if a place occurs twice, its last value counts."""
        if kernel.is_used():
            return kernel.put(places, values, self._values, self._sums)
        blocks = places // BLOCK
        self._values[self._runs, blocks, places % BLOCK] = values
        self._sums[self._runs, blocks] = _cumulated(self._values[self._runs, blocks])[..., -1]

    def drawn(self, seeds: Sequence[int], size: int, purpose: str, *position: int) -> NDArray[np.int64]:
        """`draw` with the numbers of each run's host stream: (K, `size`). Our kernel does it if the process has it."""
        if kernel.is_used():
            keys = [stream_key(seed, purpose, *position) for seed in seeds]
            return kernel.draw(keys, self._values, self._sums, size)
        return self.draw(np.stack([host_stream(seed, purpose, *position).random(size) for seed in seeds]))

    def draw(self, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
        """Sampled places (K, B): the sum is divided into B equal parts, and the b-th place comes from the b-th part.

        uniforms: (K, B) in [0, 1), the position of each draw within its part. Each run's sum must be above 0. Source:
        Schaul et al. 2016, section 3.3 (stratified sampling).
        """
        size = uniforms.shape[1]
        cumulated = np.add.accumulate(self._sums, axis=1)
        wanted = (np.arange(size) + uniforms) / size * cumulated[:, -1:]
        pairs = zip(cumulated, wanted, strict=True)
        blocks = np.stack([np.searchsorted(sums, points, side="right") for sums, points in pairs])
        blocks = np.minimum(blocks, self._last(self._sums)[:, None])
        below = np.where(blocks > 0, cumulated[self._runs, blocks - 1], 0.0)
        own = self._values[self._runs, blocks]
        above = _cumulated(own) > (wanted - below)[..., None]
        # Rounding may move a point beyond the last sum of its block: then the last place with a priority is taken.
        within = np.where(above.any(axis=-1), above.argmax(axis=-1), self._last(own))
        return blocks * BLOCK + within

    def state(self) -> dict[str, NDArray[np.float32]]:
        """The priorities, copied."""
        return {"priorities": self.values.copy()}

    def load(self, state: Mapping[str, NDArray[np.float32]]) -> None:
        """Restores the result of `state`."""
        self._values.reshape(len(self._values), -1)[:, : self.places] = state["priorities"]
        self._sums[...] = _cumulated(self._values)[..., -1]

    def clear(self) -> None:
        """Sets all priorities to 0."""
        self._values[...] = 0
        self._sums[...] = 0

    @staticmethod
    def _last(values: NDArray[np.floating]) -> NDArray[np.int64]:
        """The last index with a value above 0, along the last axis."""
        return values.shape[-1] - 1 - (values > 0)[..., ::-1].argmax(axis=-1)


def _cumulated(values: NDArray[np.float32]) -> NDArray[np.float64]:
    """Cumulative sums along the last axis, in float64."""
    return np.add.accumulate(values, axis=-1, dtype=np.float64)
