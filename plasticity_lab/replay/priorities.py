"""Priorities of remembered steps, and places drawn in proportion to them.

Legend: K runs, M places of each, C blocks of `BLOCK` places, B places drawn or changed at once.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

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
