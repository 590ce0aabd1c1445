"""A mean over updates that is the same sum however the updates are cut into chunks, and whatever the pack's width.

Shapes: S updates of a chunk, K runs of the pack.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[Any]


class RunningMean:
    """A mean over updates for each run: total (K,) and the number of updates in it."""

    def __init__(self, runs: int) -> None:
        self.total = np.zeros(runs)
        self.count = 0

    def add(self, rows_SK: Array) -> None:
        """Adds the rows of some updates."""
        # A running sum adds update by update. `sum` would add a column of its own in another order than one of many,
        # and a run alone would differ in the last bit from the same run in a pack.
        self.total = np.add.accumulate(np.vstack([self.total, rows_SK]), axis=0)[-1].copy()
        self.count += len(rows_SK)

    def take(self) -> Array:
        """The mean (K,), NaN of nothing; begins anew."""
        mean = self.total / self.count if self.count else np.full_like(self.total, np.nan)
        self.total, self.count = np.zeros_like(self.total), 0
        return mean

    def state(self) -> dict[str, Tensor | int]:
        """All that `load` needs to continue bit for bit."""
        return {"total": torch.tensor(self.total), "count": self.count}

    def load(self, state: Mapping[str, Any]) -> None:
        """Continues from a state."""
        self.total, self.count = state["total"].numpy().copy(), state["count"]
