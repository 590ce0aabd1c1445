"""Copies of a pack's numbers, for resetting single runs to them.

Legend: K runs.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.update import TrainState


class Snapshot:
    """A copy of the numbers that the updates of a body change, at the time of the copy."""

    def __init__(self, train_state: TrainState) -> None:
        self._copies: list[Tensor] = []
        self.take(train_state)

    def take(self, train_state: TrainState) -> None:
        """Copies the current numbers, and reuses the memory of the last copy. New memory would take as long as copying
        does, because the system clears it.
        """
        values = list(_all(train_state))
        if [value.shape for value in values] != [copy.shape for copy in self._copies]:
            self._copies = [torch.empty_like(value) for value in values]
        for copy, value in zip(self._copies, values, strict=True):
            copy.copy_(value)

    def finite(self, train_state: TrainState) -> NDArray[np.bool_]:
        """(K,): whether all the numbers that an update has changed are finite."""
        rows = [value.reshape(len(value), -1) for value in _all(train_state)]
        # A finite sum means that all its numbers are finite. A sum takes one pass over them; checking each number takes
        # four. Each is checked only if a sum is not finite, since large finite numbers can have an infinite sum.
        found = _all_of(value.sum(dim=1, dtype=value.dtype).isfinite() for value in rows)
        return found if found.all() else _all_of(value.isfinite().all(dim=1) for value in rows)

    def restore(self, train_state: TrainState, runs: NDArray[np.bool_]) -> None:
        """Resets these runs (K,) in place to their numbers at the time of the copy."""
        for run in np.flatnonzero(runs):
            for value, copy in zip(_all(train_state), self._copies, strict=True):
                value[run].copy_(copy[run])


def _all_of(each: Iterable[Tensor]) -> NDArray[np.bool_]:
    """(K,) on the host: for each run, whether all are true."""
    return torch.stack(list(each)).all(dim=0).cpu().numpy()


def _all(train_state: TrainState) -> Iterator[Tensor]:
    """Parameters, moments and the states of optimizer and intervention, (K, ...) each."""
    yield from train_state.parameters.values()
    for values in (*train_state.moments.values(), *train_state.rule.values()):
        yield from values.values()
    yield from train_state.state.values()
