"""What the updates of a chunk have measured, while it lasts.

Legend: K runs, U updates of a chunk, Q numbers that a loss measures of each of B rows.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.sac.step import OF_ACTOR, OF_CRITICS

Array = NDArray[np.float64]


class Measured:
    """Room for the updates of a chunk.  critics, actor: (U, Q, K, B), which the steps write into.

    rows: of the B those that are examples.
    """

    def __init__(self, critics: int, actor: int, runs: int, padded: int, rows: int, device: torch.device) -> None:
        self.critics = torch.zeros(critics, len(OF_CRITICS), runs, padded, device=device)
        self.actor = torch.zeros(actor, len(OF_ACTOR), runs, padded, device=device)
        self.runs, self.rows = runs, rows

    def finite(self, critics: int, actor: int) -> NDArray[np.bool_]:
        """(K,): whether all that so many first updates have measured is."""
        each = [self.critics[:critics], self.actor[:actor]]
        return torch.stack([own.isfinite().all(dim=3).all(dim=1).all(dim=0) for own in each]).all(dim=0).cpu().numpy()

    def means(self, critics: int, actor: int, unstable: NDArray[np.bool_]) -> dict[str, Array]:
        """Over the examples of each update of the critics, name → (U, K); nan of runs whose learning is not kept.

        Updates of the actor are as many, in another rhythm: each stands beside one of the critics, and the last beside
        all that are left.
        """
        of_critics, of_actor = self._means(self.critics[:critics]), np.full((critics, len(OF_ACTOR), self.runs), np.nan)
        if actor:
            of_actor = self._means(self.actor[:actor])[np.minimum(np.arange(critics), actor - 1)]
        for means in (of_critics, of_actor):
            means[:, :, unstable] = np.nan
        return {
            **{name: of_critics[:, at] for at, name in enumerate(OF_CRITICS)},
            **{name: of_actor[:, at] for at, name in enumerate(OF_ACTOR)},
        }

    def _means(self, measured: Tensor) -> Array:
        """(U, Q, K, B) → (U, Q, K), added up one by one: a run's mean does not depend on its mates."""
        rows = measured[..., : self.rows].cpu().numpy().astype(np.float64)
        return np.add.accumulate(rows, axis=-1)[..., -1] / self.rows
