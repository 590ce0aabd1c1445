"""Numbers that the updates of a chunk measure for each example.

Legend: K runs, U updates of a chunk, Q numbers of an example, B rows of a batch (padded).
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from plasticity_lab.stacking.run_axis import aligned


class Measured:
    """The measurements of at most U updates.

    names: names of the Q numbers.
    examples: rows of a batch that count; the others are padding.
    tensor (U, Q, K, B): the update writes into it.
    at: for each update its index, (1,).
    """

    def __init__(self, names: Sequence[str], updates: int, runs: int, examples: int, device: torch.device) -> None:
        self.names, self.examples = names, examples
        self.tensor = torch.zeros(updates, len(names), runs, aligned(examples), device=device)
        self.at = [torch.tensor([row], device=device) for row in range(updates)]

    def finite(self, taken: int) -> NDArray[np.bool_]:
        """Whether all measurements of the first `taken` updates are finite, (K,)."""
        return self.tensor[:taken].isfinite().all(dim=3).all(dim=1).all(dim=0).cpu().numpy()

    def means(self, taken: int, first: int = 0) -> dict[str, NDArray[np.float64]]:
        """Means over the examples of the updates `first` … `taken` − 1, name → (U, K).

        Examples are added one by one, so that a run's mean does not depend on the other runs of its pack.
        """
        rows = self.tensor[first:taken, ..., : self.examples].cpu().numpy().astype(np.float64)
        means = np.add.accumulate(rows, axis=-1)[..., -1] / self.examples
        return {name: means[:, at] for at, name in enumerate(self.names)}
