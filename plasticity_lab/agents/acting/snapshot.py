"""Runs of a pack that go back to numbers they had before.

Legend: K runs.
"""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.update import Learned


class Snapshot:
    """A copy of the numbers that the updates of some body change, as they are now."""

    def __init__(self, learned: Learned) -> None:
        self._copies = [value.clone() for value in _all(learned)]

    def finite(self, learned: Learned) -> NDArray[np.bool_]:
        """(K,): whether all the numbers that an update has changed are finite."""
        each = [value.isfinite().reshape(len(value), -1).all(dim=1) for value in _all(learned)]
        return torch.stack(each).all(dim=0).cpu().numpy()

    def restore(self, learned: Learned, runs: NDArray[np.bool_]) -> None:
        """Gives these runs (K,) their numbers of then, in place."""
        for run in np.flatnonzero(runs):
            for value, copy in zip(_all(learned), self._copies, strict=True):
                value[run].copy_(copy[run])


def _all(learned: Learned) -> Iterator[Tensor]:
    """Parameters, moments and the intervention's state, (K, ...) each."""
    yield from learned.parameters.values()
    for values in learned.moments.values():
        yield from values.values()
    yield from learned.state.values()
