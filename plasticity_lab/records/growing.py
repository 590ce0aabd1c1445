"""A table in memory that rows are added to, one or many at a time, without copying it each time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Growing:
    """Rows of whole numbers, marks (N, M), each with measured values (N, ...).

    marks: how many numbers a row has. shape: of a row's values.
    """

    def __init__(self, marks: int, shape: Sequence[int]) -> None:
        self._marks, self._values = np.empty((0, marks), dtype=np.int64), np.empty((0, *shape))
        self._count = 0

    @property
    def marks(self) -> Array:
        """(N, M)."""
        return self._marks[: self._count]

    @property
    def values(self) -> Array:
        """(N, ...)."""
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

    def replace(self, marks: Array, values: Array) -> None:
        """Holds these rows and no others; they become its own.  Raises ValueError for rows of another shape."""
        shapes = (marks.shape[1:], values.shape[1:])
        if shapes != (own := (self._marks.shape[1:], self._values.shape[1:])) or len(marks) != len(values):
            raise ValueError(f"The state has rows of the shapes {shapes}; those of this journal are {own}.")
        self._marks, self._values, self._count = marks, values, len(marks)
