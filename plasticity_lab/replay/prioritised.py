"""Steps drawn from a ring in proportion to how much was lost on them when they were last learned from.

Legend: K runs, N environments of each, L rows of the ring, B steps of a batch.

Source: Schaul et al. 2016, as Dopamine has it (Castro et al. 2018): a priority is √(loss + 1e-10), a step that was
never learned from has the largest priority that there has been (1 at first), draws are stratified, and each example
counts 1 / √(priority + 1e-10), divided by the largest of its batch.

Only steps that can be learned from have a priority, so that no draw has to be thrown away: `added` and `NStep.usable`
say the same of every step.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.randomness.host import host_stream
from plasticity_lab.replay.n_step import NStep
from plasticity_lab.replay.ring import EmptyMemory, Index, Ring

SMALLEST = 1e-10
"""Added to a loss and to a priority, as Dopamine does: a step that is known well is still drawn now and then."""


class Prioritised:
    """The priorities of the steps in a ring, kept up to date as it is written (`added`) and used (`learned`)."""

    def __init__(self, ring: Ring, n_step: NStep) -> None:
        self.ring, self.n_step = ring, n_step
        self._priorities = Priorities(ring.runs, ring.rows * ring.environments)
        self._largest = np.ones(ring.runs, np.float32)
        # The step from which on what each environment showed can be learned from without another episode's, or what
        # the ring does not hold: where its episode began, or where the ring did.
        self._begun = np.zeros((ring.runs, ring.environments), np.int64)

    def added(self) -> None:
        """Takes notice of the step that the ring was given last, in the place of its oldest."""
        ring, n = self.ring, self.n_step.n
        newest = ring.end - 1
        at = self._index(newest)
        self._priorities.put(self._places(at), np.zeros(at.step.shape, np.float32))
        first = ring.of("first", at)
        if ring.held == 1:  # a ring that begins within an episode lacks the frames of its first observations
            self._begun[:] = np.where(first, newest, newest + ring.body.stack - 1)
        else:
            self._begun = np.where(first, newest, self._begun)
        complete = (newest - n >= self._begun) & (newest - n >= ring.oldest)
        if complete.any():
            self._enter(newest - n, complete)
        ends = self.n_step.terminal(ring, at)
        if ends.any():
            for step in range(max(ring.oldest, newest - n + 1), newest + 1):
                self._enter(step, ends & (step >= self._begun))
        self._leave()

    def drawn(self, seeds: Sequence[int], size: int, *position: int) -> Index:
        """`size` steps of each run in proportion to their priorities, one perhaps twice.

        A function of the run's seed (K of them), the position and the run's own memory alone. position: a new one for
        each batch. Raises EmptyMemory where a run has no step that can be learned from.
        """
        if self.ring.empty or not self._priorities.total.all():
            raise EmptyMemory("The memory holds no step of a run that could be learned from.")
        uniforms = np.stack([host_stream(seed, "prioritised replay", *position).random(size) for seed in seeds])
        rows, environments = np.divmod(self._priorities.draw(uniforms), self.ring.environments)
        steps = self.ring.oldest + (rows - self.ring.oldest) % self.ring.rows
        return Index(steps, environments)

    def importance(self, index: Index) -> NDArray[np.float32]:
        """By what to multiply the loss of each step of a batch, (K, B): the largest of a run's is 1."""
        weights = 1 / np.sqrt(self._priorities.of(self._places(index)).astype(np.float64) + SMALLEST)
        return (weights / weights.max(axis=1, keepdims=True)).astype(np.float32)

    def learned(self, index: Index, losses: NDArray[np.float32]) -> None:
        """Gives steps the priorities that follow from their losses, (K, B).

        A loss that is not finite counts as the largest priority: its run is unstable.
        """
        with np.errstate(invalid="ignore"):
            priorities = np.sqrt(losses.astype(np.float64) + SMALLEST).astype(np.float32)
        priorities = np.where(np.isfinite(priorities), priorities, self._largest[:, None])
        self._largest = np.maximum(self._largest, priorities.max(axis=1))
        self._priorities.put(self._places(index), priorities)

    def state(self) -> dict[str, NDArray[Any]]:
        """All that the ring's rows do not say."""
        return {**self._priorities.state(), "largest": self._largest.copy(), "begun": self._begun.copy()}

    def load(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Goes back to what `state` gave; with a ring that has lost its memory, to none."""
        if self.ring.empty:
            self.clear()
            return
        self._priorities.load(state)
        self._largest, self._begun = state["largest"].copy(), state["begun"].copy()

    def clear(self) -> None:
        """Nothing is remembered, as in a new one."""
        self._priorities.clear()
        self._largest[:] = 1
        self._begun[:] = 0

    def _enter(self, step: int, which: NDArray[np.bool_]) -> None:
        """A step can be learned from, in these environments (K, N): what has no priority gets the largest."""
        places = self._places(self._index(step))
        own = self._priorities.of(places)
        self._priorities.put(places, np.where(which & (own == 0), self._largest[:, None], own))

    def _leave(self) -> None:
        """Steps of which a frame was overwritten are drawn no more: of the oldest, those before an episode begins."""
        ring = self.ring
        whole = np.zeros((ring.runs, ring.environments), np.bool_)
        for step in range(ring.oldest, min(ring.oldest + ring.body.stack - 1, ring.end)):
            index = self._index(step)
            whole |= ring.of("first", index)
            places = self._places(index)
            self._priorities.put(places, np.where(whole, self._priorities.of(places), np.float32(0)))

    def _index(self, step: int) -> Index:
        """A step of every environment."""
        shape = (self.ring.runs, self.ring.environments)
        return Index(np.full(shape, step), np.broadcast_to(np.arange(shape[1]), shape))

    def _places(self, index: Index) -> NDArray[np.int64]:
        return index.step % self.ring.rows * self.ring.environments + index.environment


# Priorities of remembered steps, and places drawn in proportion to them.
#
# Legend: K runs, M places of each, C blocks of `BLOCK` places, B places drawn or changed at once.

BLOCK = 256
"""Places whose priorities are summed up together: a change is a block's work, a draw that of all blocks and one."""


class Priorities:
    """A number ≥ 0 for each of M places of K runs; what is 0 is never drawn.

    Sums are cumulated one by one in float64, block by block, so that a run's draws are the same bits in any pack, and
    after a checkpoint as before it: no sum is ever changed by a difference.
    """

    def __init__(self, runs: int, places: int) -> None:
        self.places, blocks = places, -(-places // BLOCK)
        self._values = np.zeros((runs, blocks, BLOCK), np.float32)
        self._sums = np.zeros((runs, blocks), np.float64)
        self._runs = np.arange(runs)[:, None]

    @property
    def values(self) -> NDArray[np.float32]:
        """Of every place, (K, M): to be read, not written to."""
        return self._values.reshape(len(self._values), -1)[:, : self.places]

    @property
    def total(self) -> NDArray[np.float64]:
        """The sum over all places of each run, (K,)."""
        return np.add.accumulate(self._sums, axis=1)[:, -1]

    def of(self, places: NDArray[np.int64]) -> NDArray[np.float32]:
        """Of these places, (K, B)."""
        return self._values[self._runs, places // BLOCK, places % BLOCK]

    def put(self, places: NDArray[np.int64], values: NDArray[np.float32]) -> None:
        """Gives these places (K, B) other priorities (K, B); of a place that comes twice, the last one counts."""
        blocks = places // BLOCK
        self._values[self._runs, blocks, places % BLOCK] = values
        self._sums[self._runs, blocks] = _cumulated(self._values[self._runs, blocks])[..., -1]

    def draw(self, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
        """Places (K, B), the b-th out of the b-th of B shares of the sum that are equally large.

        uniforms: (K, B) in [0, 1): where in its share each is drawn. Each run's sum must be above 0. Source: Schaul et
        al. 2016, section 3.3 (stratified sampling).
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
        # Rounding may leave a point beyond the last sum of its block: then it is the last place with a priority.
        within = np.where(above.any(axis=-1), above.argmax(axis=-1), self._last(own))
        return blocks * BLOCK + within

    def state(self) -> dict[str, NDArray[np.float32]]:
        """The priorities, copied."""
        return {"priorities": self.values.copy()}

    def load(self, state: Mapping[str, NDArray[np.float32]]) -> None:
        """Goes back to what `state` gave."""
        self._values.reshape(len(self._values), -1)[:, : self.places] = state["priorities"]
        self._sums[...] = _cumulated(self._values)[..., -1]

    def clear(self) -> None:
        """All are 0."""
        self._values[...] = 0
        self._sums[...] = 0

    @staticmethod
    def _last(values: NDArray[np.floating]) -> NDArray[np.int64]:
        """The last place above 0 along the last axis."""
        return values.shape[-1] - 1 - (values > 0)[..., ::-1].argmax(axis=-1)


def _cumulated(values: NDArray[np.float32]) -> NDArray[np.float64]:
    """Sums from the first on, along the last axis, in float64."""
    return np.add.accumulate(values, axis=-1, dtype=np.float64)
