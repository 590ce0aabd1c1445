"""The accumulators of a journal: a running mean over updates, and a table that grows.

Shapes: S updates of a chunk, K runs of the pack, N rows, M marks.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[Any]


class RunningMean:
    """A mean over updates for each run: total (K,) and the number of updates in it.

    The sum does not depend on how updates are cut into chunks, nor on the width of the pack.
    """

    def __init__(self, runs: int) -> None:
        self.total = np.zeros(runs)
        self.count = 0

    def add(self, rows_SK: Array) -> None:
        """Adds the rows of some updates."""
        # A running sum adds update by update. `sum` would add a single column in another order than one of many, and a
        # run alone would differ in the last bit from the same run in a pack.
        self.total = np.add.accumulate(np.vstack([self.total, rows_SK]), axis=0)[-1].copy()
        self.count += len(rows_SK)

    def take(self) -> Array:
        """The mean (K,), NaN without updates; resets the sum."""
        mean = self.total / self.count if self.count else np.full_like(self.total, np.nan)
        self.total, self.count = np.zeros_like(self.total), 0
        return mean

    def state(self) -> dict[str, Tensor | int]:
        """The state for `load`, which continues bit for bit."""
        return {"total": torch.tensor(self.total), "count": self.count}

    def load(self, state: Mapping[str, Any]) -> None:
        """Continues from a state."""
        self.total, self.count = state["total"].numpy().copy(), state["count"]


class Growing:
    """Rows of integers, marks (N, M), each with measured values (N, ...). Adding rows rarely copies the table.

    marks: M. shape: the shape of a row's values.
    """

    def __init__(self, marks: int, shape: Sequence[int]) -> None:
        self._marks, self._values = np.empty((0, marks), dtype=np.int64), np.empty((0, *shape))
        self._count = 0

    @property
    def marks(self) -> Array:
        """The marks of all rows, (N, M)."""
        return self._marks[: self._count]

    @property
    def values(self) -> Array:
        """The values of all rows, (N, ...)."""
        return self._values[: self._count]

    def append(self, marks: Array, values: Array) -> None:
        """Adds rows, marks (n, M) and values (n, ...)."""
        needed = self._count + len(marks)
        if needed > len(self._marks):
            more = max(64, self._count, len(marks))
            self._marks = np.concatenate([self._marks, np.empty((more, *self._marks.shape[1:]), dtype=np.int64)])
            self._values = np.concatenate([self._values, np.empty((more, *self._values.shape[1:]))])
        self._marks[self._count : needed], self._values[self._count : needed] = marks, values
        self._count = needed

    def state(self) -> dict[str, Tensor]:
        """The state for `load`: copies."""
        return {"marks": torch.tensor(self.marks), "values": torch.tensor(self.values)}

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Continues from a state.  Raises ValueError for rows of another shape."""
        marks, values = state["marks"].numpy().copy(), state["values"].numpy().copy()
        shapes, expected = (marks.shape[1:], values.shape[1:]), (self._marks.shape[1:], self._values.shape[1:])
        if shapes != expected or len(marks) != len(values):
            raise ValueError(f"The state has rows of the shapes {shapes}; this journal has {expected}.")
        self._marks, self._values, self._count = marks, values, len(marks)
