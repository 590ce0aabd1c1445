"""What a learner has measured in a chunk, before the journal adds it up.

Shapes: K runs, S updates of a chunk, E episodes that ended in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Episodes:
    """The episodes that ended in a chunk, those of each run in the order in which they ended.

    run (E,): whose they were, 0 … K − 1. step (E,): steps of the run when each ended, counted from 1 through the run.
    values: measure → (E,).
    """

    run: NDArray[np.int64]
    step: NDArray[np.int64]
    values: Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Rows:
    """What a chunk has measured.

    updates: measure → (S, K), a mean over the examples of each update; S may be 0, and need not be the chunk's steps.
    episodes: None for an agent that has none. values: measure → (K,), of the epoch that the chunk ends.
    """

    updates: Mapping[str, NDArray[np.float64]]
    episodes: Episodes | None = None
    values: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)


Evaluation = Mapping[str, NDArray[Any]]
"""Measure → (K,), of a whole task; of its pairs with P tasks (K, P)."""
